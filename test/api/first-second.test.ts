/** Responses of a process from its first second until it has started. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pino from 'pino';
import { Provec as Client } from '../../client/index.ts';
import { readConfig } from '../../process/config.ts';
import { type Provec, startProvec } from '../../provec.ts';
import { FrontDoor } from '../../services/gateway/front-door.ts';
import { smallService } from '../support/environment.ts';
import { freePorts } from '../support/free-ports.ts';
import { type RawAnswer, rawRequest } from '../support/raw-request.ts';
import { StartedProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const STARTS_MAX = 5;
const LOG = pino({ level: 'silent' });
const KEY = { authorization: `Bearer ${TEST_KEY}` };
const BODY = { ...KEY, 'content-type': 'application/json' };

let folder: string;
let door: FrontDoor;
let provec: Provec | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-first-second-'));
});
afterEach(async () => {
  await provec?.stop();
  await door?.close(0);
  provec = null;
  await rm(folder, { recursive: true });
});

const configOf = (changes: Record<string, string> = {}) =>
  readConfig(smallService(join(folder, 'data'), { PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'silent', ...changes }));

async function opened(changes: Record<string, string> = {}): Promise<string> {
  door = new FrontDoor(configOf(changes), LOG);
  const { port } = await door.listen();
  return `http://127.0.0.1:${port}`;
}

function expectStarting({ status, headers, text }: RawAnswer): void {
  expect([status, headers['retry-after']]).toEqual([503, '1']);
  expect(JSON.parse(text)).toEqual({
    error: 'Provec is starting; send the request again.',
    code: 'UNAVAILABLE',
    status: 503,
    requestId: headers['x-request-id'],
    retryAfterSeconds: 1,
  });
}

test('before anything is ready, requests get 503 with Retry-After, in the words of each dialect', async () => {
  const url = await opened();
  expectStarting(await rawRequest(url, 'GET', '/api/v1/collections', KEY));
  expectStarting(await rawRequest(url, 'POST', '/api/v1/collections', BODY, '{"name": "a", "dimensions": 1}'));
  expectStarting(await rawRequest(url, 'GET', '/metrics'));
  expectStarting(await rawRequest(url, 'POST', '/api/v1/collections/a/import', BODY, new Uint8Array(5_000_000)));
  const pinecone = await rawRequest(url, 'GET', '/pinecone/indexes', { 'api-key': TEST_KEY });
  expect([pinecone.status, pinecone.headers['retry-after']]).toEqual([503, '1']);
  expect(JSON.parse(pinecone.text)).toMatchObject({ status: 503, error: { code: 'UNAVAILABLE' } });
  expect(await rawRequest(url, 'HEAD', '/api/v1/usage', KEY)).toMatchObject({ status: 503, text: '' });
  expect(await rawRequest(url, 'GET', '/livez')).toMatchObject({ status: 200, text: '{"status":"live"}' });
  const ready = await rawRequest(url, 'GET', '/readyz');
  expect([ready.status, JSON.parse(ready.text)]).toEqual([503, { status: 'starting' }]);
});

test('the gateway takes over the port, and an earlier client gets its answer', async () => {
  const url = await opened();
  const asked = new Client({ url, apiKey: TEST_KEY }).listCollections().all();
  const seen: number[] = [];
  let isStarted = false;
  const watching = (async () => {
    while (!isStarted) seen.push((await rawRequest(url, 'GET', '/api/v1/usage', KEY)).status);
  })();
  provec = await startProvec(configOf(), { log: LOG, door });
  isStarted = true;
  await watching;
  expect(provec.url).toBe(url);
  expect(await asked).toEqual([]);
  expect([seen[0], [...new Set(seen)].sort()]).toEqual([503, seen.includes(200) ? [200, 503] : [503]]);
  expect((await rawRequest(url, 'GET', '/readyz')).status).toBe(200);
  await provec.stop();
  await expect(rawRequest(url, 'GET', '/livez')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a refused start frees the port', async () => {
  await writeFile(join(folder, 'data'), '');
  const url = await opened();
  await expect(startProvec(configOf(), { log: LOG, door })).rejects.toThrow(/not a folder/);
  await expect(rawRequest(url, 'GET', '/livez')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('waits for a port that is in use at first', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const config = configOf({ PROVEC_PORT: `${port}` });
  door = new FrontDoor(config, LOG);
  await expect(door.listen()).rejects.toThrow('another program listens there');
  other.close();
  await once(other, 'close');
  provec = await startProvec(config, { log: LOG, door });
  expect((await rawRequest(provec.url!, 'GET', '/readyz')).status).toBe(200);
});

test('a process accepts every connection once it listens, and says that it is starting until it is ready', async () => {
  // On a slow machine the process may have started before the first request.
  let first = 200;
  for (let starts = 0; first === 200 && starts < STARTS_MAX; starts++) first = await startedWhile(expectStarting);
  expect(first).toBe(503);
});

/**
 * Starts a process and calls `check` with each response until it has started. Returns the first
 * status.
 */
async function startedWhile(check: (answer: RawAnswer) => void): Promise<number> {
  const [port] = await freePorts(1);
  const run = new StartedProcess({
    PROVEC_PORT: `${port}`,
    PROVEC_DATA_DIR: join(folder, 'data'),
    PROVEC_BOOTSTRAP_KEY: TEST_KEY,
    PROVEC_LEDGER: 'off',
    PROVEC_WORKERS: '1',
  });
  try {
    const ask = () => rawRequest(`http://127.0.0.1:${port}`, 'GET', '/api/v1/usage', KEY);
    const first = await until('it listens', () => ask().catch(() => null));
    for (let answer = first; answer.status !== 200; answer = await ask()) check(answer);
    await run.listening();
    return first.status;
  } finally {
    run.dispose();
    await run.ended;
  }
}
