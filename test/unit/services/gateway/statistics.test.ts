/** The statistics of an index with more namespaces than one page has. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { type Edge, KEY, startEdge, until } from './harness.ts';

const STATS = '/pinecone/indexes/docs/describe_index_stats';
const PAGE = 500;
/** In order; the default one is first, and one is called as Pinecone calls that. */
const NAMES = [
  '',
  '__default__',
  ...Array.from({ length: 1_700 }, (_, i) => `n${String(i).padStart(6, '0')}${'x'.repeat(200)}`),
];

let edge: Edge;
/** From this page on, reading takes until it is cancelled. */
let stuckFrom = Number.POSITIVE_INFINITY;
const signals: AbortSignal[] = [];

beforeAll(async () => {
  edge = await startEdge({
    actions: {
      'collections.count': ({ decoded }) => ({ count: (decoded as { namespace: string }).namespace === '' ? 1 : 2 }),
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

test('they are sent whole, with each namespace once', async () => {
  const { json } = await edge.request('GET', STATS, undefined, { 'api-key': KEY });
  const counts = json.namespaces as Record<string, { vectorCount: number }>;
  expect(Object.keys(counts)).toEqual(['__default__', ...NAMES.slice(2)]);
  expect(counts.__default__).toEqual({ vectorCount: 3 });
  expect(json).toMatchObject({ dimension: 3, totalVectorCount: NAMES.length + 1, vectorType: 'dense' });
});

test('the client has the first of them while the next are read, which ends when it leaves', async () => {
  stuckFrom = 2;
  signals.length = 0;
  const connection = new RawConnection(edge.port);
  connection.write(`GET ${STATS} HTTP/1.1\r\nHost: x\r\nApi-Key: ${KEY}\r\n\r\n`);
  await connection.until((received) => received.includes('n000100'));
  await until(() => signals.length === 3);
  const last = signals.at(-1)!;
  expect(last.aborted).toBe(false);
  connection.socket.destroy();
  if (!last.aborted) await once(last, 'abort');
  expect(signals).toHaveLength(3);
});

test('counting the namespaces of a listing ends with the time of the request', async () => {
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
