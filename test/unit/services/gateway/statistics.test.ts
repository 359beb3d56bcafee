/** Statistics of an index with more namespaces than fit on one page. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { shardUnavailableError } from '../../../../lib/shard/shard-unavailable.ts';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import type { FakeActions } from '../../../support/world.ts';
import { type Edge, KEY, startEdge, until } from './harness.ts';

const STATS = '/pinecone/indexes/docs/describe_index_stats';
const PAGE = 500;
/** Chunk of white space, which shows the gateway whether a half-closed connection is still read. */
const PROBE = '\r\n1\r\n \r\n';
/** In order. The default namespace comes first, and one has Pinecone's name for the default. */
const NAMES = [
  '',
  '__default__',
  ...Array.from({ length: 1_700 }, (_, i) => `n${String(i).padStart(6, '0')}${'x'.repeat(200)}`),
];

let edge: Edge;
/** From this page on, reads hang until they are cancelled. */
let stuckFrom = Number.POSITIVE_INFINITY;
const signals: AbortSignal[] = [];

beforeAll(async () => {
  edge = await startEdge({
    actions: {
      'collections.count': ({ body }) => ({ count: (body as { namespace: string }).namespace === '' ? 1 : 2 }),
      'collections.namespaces': ({ cursor = '0' }, { signal }) => {
        const from = Number(cursor);
        signals.push(signal!);
        if (from >= stuckFrom * PAGE) return new Promise((_, fail) => signal!.addEventListener('abort', fail));
        const namespaces = NAMES.slice(from, from + PAGE).map((name, i) => ({
          name,
          vectorCount: from + i === 1 ? 2 : 1,
        }));
        return { namespaces, ...(from + PAGE < NAMES.length && { nextCursor: String(from + PAGE) }) };
      },
    },
  });
});
afterAll(() => edge.stop());

test('are sent completely, with each namespace once', async () => {
  const { json } = await edge.request('GET', STATS, undefined, { 'api-key': KEY });
  const counts = json.namespaces as Record<string, { vectorCount: number }>;
  expect(Object.keys(counts)).toEqual(['__default__', ...NAMES.slice(2)]);
  expect(counts.__default__).toEqual({ vectorCount: 3 });
  expect(json).toMatchObject({ dimension: 3, totalVectorCount: NAMES.length + 1, vectorType: 'dense' });
});

test('the client gets the first part while the rest is read, which ends when it leaves', async () => {
  stuckFrom = 2;
  signals.length = 0;
  const connection = new RawConnection(edge.port);
  connection.socket.end(`GET ${STATS} HTTP/1.1\r\nHost: x\r\nApi-Key: ${KEY}\r\n\r\n`);
  await connection.until((received) => received.includes('n000100') && received.includes(PROBE));
  await until(() => signals.length === 3);
  const last = signals.at(-1)!;
  expect(last.aborted).toBe(false);
  connection.socket.destroy();
  if (!last.aborted) await once(last, 'abort');
  expect(signals).toHaveLength(3);
});

test('a client that has ended its side and still reads gets the whole answer', async () => {
  const page = Promise.withResolvers<object>();
  const namespaces = NAMES.slice(2, 502).map((name) => ({ name, vectorCount: 1 }));
  const first = { namespaces, nextCursor: 'more' };
  const own = await startEdge({
    actions: { 'collections.namespaces': ({ cursor }) => (cursor === undefined ? first : page.promise) },
  });
  const connection = new RawConnection(own.port);
  connection.socket.end(`GET ${STATS} HTTP/1.1\r\nHost: x\r\nApi-Key: ${KEY}\r\n\r\n`);
  await connection.until((received) => received.includes(PROBE));
  page.resolve({ namespaces: [{ name: 'last', vectorCount: 1 }] });
  const [, ...chunks] = (await connection.end()).split(/\r\n(?:\r\n)?[0-9a-f]+\r\n/);
  expect(JSON.parse(chunks.join(''))).toMatchObject({
    namespaces: { last: { vectorCount: 1 } },
    totalVectorCount: 501,
  });
  await own.stop();
});

test("counting the namespaces of a listing ends with the request's time", async () => {
  let nowMs = 0;
  const slow = await startEdge({
    clock: { ...SYSTEM_CLOCK, monotonicMs: () => nowMs },
    actions: {
      'collections.namespaces': () => {
        nowMs += 25_000;
        return { namespaces: [{ name: 'a', vectorCount: 1 }], nextCursor: 'more' };
      },
    },
  });
  const { status } = await slow.request('GET', '/pinecone/indexes/docs/namespaces', undefined, { 'api-key': KEY });
  expect(status).toBe(503);
  expect(slow.calls.get('collections.namespaces')).toHaveLength(3);
  await slow.stop();
});

const FIRST = { namespaces: [{ name: 'a', vectorCount: 1 }], nextCursor: 'more' };
const SECOND = { namespaces: [{ name: 'b', vectorCount: 1 }] };
const WHOLE = { namespaces: { a: { vectorCount: 1 }, b: { vectorCount: 1 } }, totalVectorCount: 2 };

/** A gateway with an index of two pages of namespaces; `second` returns the second page. */
const startTwoPages = (second: () => unknown, actions: FakeActions = {}): Promise<Edge> =>
  startEdge({
    actions: { 'collections.namespaces': ({ cursor }) => (cursor === undefined ? FIRST : second()), ...actions },
  });

test('each page is read with a permit, which is released before the page is sent', async () => {
  const page = Promise.withResolvers<object>();
  const own = await startTwoPages(() => page.promise, { 'shards.stats': () => ({}), 'anchoring.stats': () => ({}) });
  const permits = async (): Promise<string | undefined> =>
    /^provec_gateway_seats_taken\{.*queue="query".*\} (\d+)$/m.exec((await own.request('GET', '/metrics')).text)?.[1];
  const answer = own.request('GET', STATS, undefined, { 'api-key': KEY });
  await until(() => own.calls.get('collections.namespaces')?.length === 2);
  expect(await permits()).toBe('8');
  page.resolve(SECOND);
  expect((await answer).json).toMatchObject(WHOLE);
  expect(await permits()).toBe('0');
  await own.stop();
});

test('a page for which a shard is away is read again once the shard is back', async () => {
  const failures = [shardUnavailableError(0, 'is being closed'), shardUnavailableError(0, 'is being opened')];
  const second = (): object => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return SECOND;
  };
  const own = await startTwoPages(second, { 'collections.whenReady': () => undefined });
  const { json, status } = await own.request('GET', STATS, undefined, { 'api-key': KEY });
  expect([status, json]).toEqual([200, expect.objectContaining(WHOLE)]);
  expect(own.calls.get('collections.whenReady')).toHaveLength(2);
  await own.stop();
});
