/**
 * Many records go in and out of a service in its own process. The command's memory may not grow
 * with their number, except by the hashes that the page promises.
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { startCommandLine } from '../support/command-line.ts';
import { peakOf } from '../support/preloaded-peak.ts';
import { randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';

const RECORDS = Number(process.env.PROVEC_TEST_RECORDS ?? 200_000);
const DIMENSIONS = 64;
const LINES = 1_000;
const MIB = 2 ** 20;
/** Bounds of the command's memory, in bytes. */
const STREAMING_MAX = 320 * MIB;
const HASHES_MAX = 160 * RECORDS;
const VERIFYING_MAX = 240 * MIB + HASHES_MAX;
const MOVING_MAX = 450 * MIB + HASHES_MAX;
const PEAK_WATCH = new URL('../support/preloaded-peak.ts', import.meta.url).href;

/** Far longer than needed on a slow machine; only a hanging test reaches it. */
jest.setTimeout(3_600_000);

let folder: string;
let service: ServiceProcess;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-many-'));
  service = await startProcess();
  await pipeline(Readable.from(parts()), createWriteStream(join(folder, 'given.ndjson')));
});
afterAll(async () => {
  await service?.dispose();
  await rm(folder, { recursive: true, force: true });
});

/** Yields the records as NDJSON. */
function* parts(): Generator<string> {
  const random = randomFrom(seed);
  for (let from = 0; from < RECORDS; from += LINES) {
    const lines = Array.from({ length: Math.min(LINES, RECORDS - from) }, (_, at) => {
      const values = Array.from({ length: DIMENSIONS }, () => Math.round((random() * 2 - 1) * 10_000) / 10_000);
      const number = from + at;
      const metadata = { section: `section ${number % 5}`, number, title: `record ${number} of a file` };
      return `${JSON.stringify({ id: `record-${number}`, values, metadata })}\n`;
    });
    yield lines.join('');
  }
}

/** Runs the command and prints its rate and memory. Fails if it took more than `maxBytes`. */
async function answerWithin(maxBytes: number, ...args: string[]) {
  const peakFile = join(folder, 'peak');
  const environment = {
    PROVEC_URL: service.url,
    PROVEC_KEY: TEST_KEY,
    XDG_CONFIG_HOME: folder,
    NODE_OPTIONS: `--import=${PEAK_WATCH}`,
    PROVEC_TEST_PEAK: peakFile,
  };
  const startMs = performance.now();
  const { code, stdout, stderr } = await startCommandLine([...args, '--json'], { environment, folder }).ended;
  const seconds = (performance.now() - startMs) / 1_000;
  expect([args, code, stderr]).toEqual([args, 0, '']);
  const bytes = Number(await readFile(peakFile, 'utf8'));
  console.log(
    `${args.join(' ')}: ${seconds.toFixed(1)} s, ${Math.round(RECORDS / seconds)} records/s, ` +
      `command at most ${Math.round(bytes / MIB)} MiB, service so far ${Math.round(peakOf(service.pid) / MIB)} MiB`,
  );
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(maxBytes);
  return JSON.parse(stdout);
}

test(`${RECORDS} records in and out, by every way, in bounded memory and with one root`, async () => {
  const dimensions = ['--dimensions', `${DIMENSIONS}`];
  await answerWithin(STREAMING_MAX, 'collections', 'create', 'many', ...dimensions);
  const { merkleRoot, ...imported } = await answerWithin(STREAMING_MAX, 'import', 'many', 'given.ndjson');
  expect(imported).toMatchObject({ importedCount: RECORDS, vectorCount: RECORDS });
  const whole = { merkleRoot, vectorCount: RECORDS };
  const exported = await answerWithin(STREAMING_MAX, 'export', 'many', '--out', 'many.ndjson');
  expect(exported).toMatchObject(whole);
  expect(await answerWithin(VERIFYING_MAX, 'verify', '--export', 'many.ndjson')).toMatchObject(whole);
  const parquet = await answerWithin(STREAMING_MAX, 'export', 'many', '--to', 'parquet', '--out', 'many.parquet');
  expect(parquet).toMatchObject(whole);
  await rm(join(folder, 'many.ndjson'));
  const moved = { moved: true, count: RECORDS, equal: RECORDS, merkleRoot };
  for (const [kind, file] of [
    ['parquet', 'many.parquet'],
    ['ndjson', 'given.ndjson'],
  ] as const)
    expect(await answerWithin(MOVING_MAX, 'import-from', kind, kind, '--from', file)).toMatchObject(moved);
});
