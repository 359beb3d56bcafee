import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { freePorts } from '../support/free-ports.ts';
import { type ServiceProcess, StartedProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, TEST_KEY } from '../support/tenant.ts';

const COLLECTIONS = 3;
const STARTS_MAX = 5;
const SHARDS = 64;

let first: ServiceProcess;
let second: StartedProcess | null = null;

beforeAll(async () => {
  first = await startProcess({ PROVEC_LEDGER: 'off' });
  for (let c = 0; c < COLLECTIONS; c++) {
    await first.api('POST', '/collections', { name: `c${c}`, dimensions: 8, shards: SHARDS });
    const records = Array.from({ length: 1_000 }, (_, i) => ({ id: `r${i}`, values: [1, i, 0, 0, 0, 0, 0, c] }));
    expect((await first.api('POST', `/collections/c${c}/upsert`, { records })).status).toBe(200);
  }
  await first.kill('SIGTERM');
});
afterAll(async () => {
  second?.dispose();
  await second?.ended;
  await first.dispose();
});

interface Seen {
  ready: { status: number; reasons?: string[] }[];
  answers: { status: number; body: unknown }[];
}

/** Starts the service and polls until it is ready. */
async function start(port: number): Promise<Seen> {
  second = new StartedProcess({
    PROVEC_PORT: String(port),
    PROVEC_DATA_DIR: first.dataDir,
    PROVEC_LEDGER: 'off',
    PROVEC_WORKERS: '1',
    PROVEC_DISK_RESERVE_MB: '16',
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
  });
  const url = `http://127.0.0.1:${port}`;
  const api = apiClient(url, TEST_KEY);
  const seen: Seen = { ready: [], answers: [] };
  while (seen.ready.at(-1)?.status !== 200) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const ready = await fetch(`${url}/readyz`, { headers }).catch(() => null);
    if (ready === null) continue;
    const { reasons } = (await ready.json()) as { reasons?: string[] };
    seen.ready.push({ status: ready.status, reasons });
    seen.answers.push(await api('GET', '/collections/c0'));
    expect((await fetch(`${url}/livez`)).status).toBe(200);
  }
  return seen;
}

test('is 503 until the previously open shards are back; requests meanwhile are answered correctly or get a Retry-After', async () => {
  const [port] = await freePorts(1);
  let { ready: seen, answers } = await start(port);
  // On a slow machine the service may be ready before the first poll.
  for (let triesLeft = STARTS_MAX; seen.length === 1 && triesLeft > 0; triesLeft--) {
    second!.child.kill('SIGKILL');
    await second!.ended;
    ({ ready: seen, answers } = await start(port));
  }
  const url = `http://127.0.0.1:${port}`;
  const api = apiClient(url, TEST_KEY);
  const waiting = seen.slice(0, -1);
  expect(new Set(waiting.map(({ status }) => status))).toEqual(new Set([503]));
  expect(waiting.flatMap(({ reasons }) => reasons)).toContainEqual(expect.stringMatching(/^\d+ shards are opening$/));
  for (const { status, body } of answers) {
    if (status === 503) expect(body).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: expect.any(Number) });
    else expect({ status, body }).toMatchObject({ status: 200, body: { collection: { vector_count: 1_000 } } });
  }
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(new RegExp(`^provec_shards_open ${COLLECTIONS * SHARDS}$`, 'm'));
  expect(await api('POST', '/collections/c2/query', { vector: [0, 1, 0, 0, 0, 0, 0, 0], topK: 1 })).toMatchObject({
    status: 200,
    body: { matches: [{ id: 'r999' }] },
  });
});
