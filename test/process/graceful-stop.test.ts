import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../support/accounts.ts';
import { expectDurationBelow } from '../support/duration.ts';
import { runningIn } from '../support/process-group.ts';
import { type ServiceProcess, StartedProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const DIMENSIONS = 256;
const STOP_MAX_MS = 30_000;

let service: ServiceProcess;

beforeAll(async () => {
  service = await startProcess();
  for (const name of ['large', 'slow', 'anchored']) {
    await service.api('POST', '/collections', { name, dimensions: DIMENSIONS });
  }
  await service.api('POST', '/collections/anchored/upsert', { records: records('seed', 200) });
});
afterAll(() => service.dispose());

function records(prefix: string, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    id: `${prefix}${i}`,
    values: Array.from({ length: DIMENSIONS }, (_, d) => Math.fround(Math.sin(i * DIMENSIONS + d))),
    metadata: { i },
  }));
}

/** Starts an upsert of one record and holds back its last byte. */
function heldUpsert() {
  const text = JSON.stringify({ records: records('held', 1) });
  let finish: () => void = () => {};
  const body = new ReadableStream({
    start(stream) {
      stream.enqueue(Buffer.from(text.slice(0, -1)));
      finish = () => {
        stream.enqueue(Buffer.from(text.slice(-1)));
        stream.close();
      };
    },
  });
  const headers = { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body, duplex: 'half' };
  return { answer: fetch(`${service.url}/api/v1/collections/slow/upsert`, init as RequestInit), finish };
}

async function inFlight(): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  return Number(/^provec_http_requests_in_flight (\d+)$/m.exec(text)![1]) - 1;
}

async function isRefused(): Promise<boolean> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const refused = await once(socket, 'connect').then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
  );
  socket.destroy();
  return refused;
}

test('requests in flight at SIGTERM end with 200, new connections are refused, the exit code is 0, nothing is lost', async () => {
  const held = heldUpsert();
  await eventually(async () => (await inFlight()) === 1);
  const large = service.api('POST', '/collections/large/upsert', { records: records('r', 1_000) });
  const anchored = service.api('POST', '/collections/anchored/upsert', { records: records('late', 10) });
  const verify = service.api('GET', '/collections/anchored/verify');
  let areOver = false;
  void Promise.all([large, anchored, verify]).finally(() => {
    areOver = true;
  });
  // On a busy machine all others may end before they are seen; the held request is still running.
  await eventually(async () => areOver || (await inFlight()) > 1);

  const signalledMs = performance.now();
  const ended = service.kill('SIGTERM');
  await eventually(isRefused);
  held.finish();
  const slow = await held.answer;
  expect([slow.status, await slow.json()]).toMatchObject([200, { upsertedCount: 1, vectorCount: 1 }]);
  expect(slow.headers.get('connection')).toBe('close');
  expect(await large).toMatchObject({ status: 200, body: { upsertedCount: 1_000, vectorCount: 1_000 } });
  expect(await anchored).toMatchObject({ status: 200, body: { upsertedCount: 10, vectorCount: 210 } });
  expect(await verify).toMatchObject({ status: 200 });
  const group = service.pid;
  expect(await ended).toEqual({ code: 0, signal: null });
  expectDurationBelow(performance.now() - signalledMs, STOP_MAX_MS);
  expect(service.stderr).not.toMatch(/"level":[456]0/);
  expect(await runningIn(group)).toEqual([]);

  await service.restart();
  for (const [name, count] of Object.entries({ slow: 1, large: 1_000, anchored: 210 })) {
    const { body } = await service.api('GET', `/collections/${name}/verify`);
    expect(body).toMatchObject({ state: 'match', verified: true, vectorCount: count });
  }
});

test("a signal after the parent's end has begun the stop does not shorten it", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'provec-orphan-'));
  // Its parent is not the process named in the variable.
  const orphan = new StartedProcess({
    PROVEC_PORT: '0',
    PROVEC_DATA_DIR: dataDir,
    PROVEC_LEDGER: 'off',
    SUPERVISOR_PID: '1',
  });
  try {
    await until('the stop begins', () => orphan.stderr.includes('what started this process has ended'));
    orphan.child.kill('SIGTERM');
    expect(await orphan.ended).toEqual({ code: 0, signal: null });
    expect(orphan.stderr).toContain('"stopped"');
  } finally {
    orphan.dispose();
    await orphan.ended;
    await rm(dataDir, { recursive: true, force: true });
  }
});
