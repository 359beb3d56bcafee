/** The list of indexes of an account that has more of them than one page of collections. */
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { RawConnection } from '../../../support/raw-connection.ts';
import { until } from '../../../support/until.ts';
import { type Edge, KEY, startEdge } from './harness.ts';

const PAGE = 200;
const NAMES = Array.from({ length: 500 }, (_, at) => `index-${String(at).padStart(3, '0')}`);

let edge: Edge;
/** Reading a page waits for this. */
let turn: (cursor: number) => unknown;
const signals: AbortSignal[] = [];

beforeEach(async () => {
  turn = () => undefined;
  signals.length = 0;
  edge = await startEdge({
    actions: {
      'shards.stats': () => ({}),
      'anchoring.stats': () => ({}),
      'collections.list': async ({ cursor = '0' }, { signal }) => {
        const from = Number(cursor);
        signals.push(signal!);
        await turn(from);
        const names = NAMES.slice(from, from + PAGE);
        const collections = names.map((name) => ({ name, dimensions: 3, metric: 'cosine', deletionProtection: false }));
        return { collections, ...(from + PAGE < NAMES.length && { nextCursor: String(from + PAGE) }) };
      },
    },
  });
});
afterEach(() => edge.stop());

const ask = () => edge.request('GET', '/pinecone/indexes', undefined, { 'api-key': KEY });

async function permits(): Promise<string | undefined> {
  const { text } = await edge.request('GET', '/metrics');
  return /^provec_gateway_seats_taken\{.*queue="other".*\} (\d+)$/m.exec(text)?.[1];
}

test('is sent completely, each page read with permits that are released before it is sent', async () => {
  const third = Promise.withResolvers<void>();
  turn = (from) => (from === 2 * PAGE ? third.promise : undefined);
  const answer = ask();
  await until('the last page is read', () => signals.length === 3);
  expect(await permits()).toBe('24');
  third.resolve();
  const { json, status } = await answer;
  expect(status).toBe(200);
  expect((json.indexes as { name: string }[]).map(({ name }) => name)).toEqual(NAMES);
  expect(await permits()).toBe('0');
});

test('the client gets the first part while the rest is read, which ends when it leaves', async () => {
  turn = (from) => (from === PAGE ? new Promise((_, fail) => signals[1]!.addEventListener('abort', fail)) : undefined);
  const connection = new RawConnection(edge.port);
  connection.write(`GET /pinecone/indexes HTTP/1.1\r\nHost: x\r\nApi-Key: ${KEY}\r\n\r\n`);
  await connection.until((received) => received.includes(NAMES[0]!));
  await until('the second page is read', () => signals.length === 2);
  const [, last] = signals;
  expect(last!.aborted).toBe(false);
  connection.socket.destroy();
  if (!last!.aborted) await once(last!, 'abort');
  expect(signals).toHaveLength(2);
});
