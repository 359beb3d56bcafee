/**
 * Files that a start creates are private to its user under any umask: other users of the machine
 * cannot read tenants' data.
 */
import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { smallService } from '../support/environment.ts';
import { NODE_START, StartedProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

/** Enough for an index, and for a log large enough for a checkpoint. */
const RECORDS = 2_000;
const DIMENSIONS = 64;
const WITHOUT_UMASK = ['sh', '-c', 'umask 0; exec "$@"', 'sh', ...NODE_START] as const;

let folder: string;
let run: StartedProcess;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-modes-'));
});
afterEach(async () => {
  run.dispose();
  await run.ended;
  await rm(folder, { recursive: true, force: true });
});

async function start(environment: Record<string, string> = {}): Promise<string> {
  run = new StartedProcess(smallService(join(folder, 'data'), environment), [], WITHOUT_UMASK);
  return run.listening();
}

/** Paths of created files, and those that other users may access, with their modes. */
function made(): { paths: string[]; shared: string[] } {
  const paths = ['data', ...readdirSync(join(folder, 'data'), { recursive: true }).map((path) => `data/${path}`)];
  const modes = paths.flatMap((path) => {
    const stat = statSync(join(folder, path), { throwIfNoEntry: false });
    return stat === undefined ? [] : [{ path, isFolder: stat.isDirectory(), mode: (stat.mode & 0o777).toString(8) }];
  });
  const shared = modes.filter(({ isFolder, mode }) => mode !== (isFolder ? '700' : '600'));
  return { paths, shared: shared.map(({ path, mode }) => `${mode} ${path}`) };
}

test('the folder of a single process with the embedded ledger, under umask 0', async () => {
  const api = apiClient(await start(), TEST_KEY);
  await api('POST', '/collections', { name: 'large', dimensions: DIMENSIONS });
  for (let from = 0; from < RECORDS; from += 1_000) {
    const records = Array.from({ length: 1_000 }, (_, at) => ({
      id: `${from + at}`,
      values: Array.from({ length: DIMENSIONS }, (_, d) => Math.sin((from + at) * DIMENSIONS + d)),
    }));
    expect(await api('POST', '/collections/large/upsert', { records })).toMatchObject({ status: 200 });
  }
  await until('open shards are listed', () => made().paths.includes('data/open-shards.json'));
  const running = made();
  expect(running.paths).toEqual(expect.arrayContaining(['data/log.db-wal', 'data/log.db-mark', 'data/records.db']));
  expect(running.shared).toEqual([]);
  run.child.kill('SIGTERM');
  await run.ended;
  const stopped = made();
  const names = stopped.paths.map((path) => path.split('/').at(-1));
  for (const name of ['graph.usearch', 'records.bin', 'journal.ndjson', 'leases.db', 'secret'])
    expect(names).toContain(name);
  expect(stopped.shared).toEqual([]);
});

test('the folder of a cluster node, under umask 0', async () => {
  const api = apiClient(
    await start({ PROVEC_TRANSPORTER: 'TCP', PROVEC_NODE_ID: 'first', PROVEC_LEDGER: 'off' }),
    TEST_KEY,
  );
  await api('POST', '/collections', { name: 'c', dimensions: 2 });
  expect(await api('POST', '/collections/c/upsert', { records: [{ id: 'a', values: [1, 2] }] })).toMatchObject({
    status: 200,
  });
  await api('POST', '/collections/c/query', { vector: [1, 2] });
  const { paths, shared } = made();
  expect(paths).toContain('data/nodes/first');
  expect(shared).toEqual([]);
});
