import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Cancelled } from '../../../../contracts/actions/cancelled.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { until } from '../../../support/until.ts';
import { type Edge, KEY, startEdge } from './harness.ts';

/** Running actions. */
const working: { signal: AbortSignal | undefined; end(): void }[] = [];
const ACTIONS = ['query', 'queries', 'fetch', 'count', 'facets', 'listRecords', 'namespaces', 'export', 'delete'];

/** An action that ends when it is cancelled, or when the test says so. */
const work = (_params: unknown, { signal }: { signal?: AbortSignal }) =>
  new Promise<void>((end, fail) => {
    working.push({ signal, end });
    signal?.addEventListener('abort', () => fail(signal.reason));
  });

let edge: Edge;
beforeAll(async () => {
  const actions = Object.fromEntries(ACTIONS.map((name) => [`collections.${name}`, work]));
  // The metrics page calls these.
  const stats = { 'shards.stats': () => ({}), 'anchoring.stats': () => ({}) };
  edge = await startEdge({ actions: { ...actions, ...stats } });
});
afterAll(() => edge.stop());

function ask(method: string, path: string, body: object | null): RawConnection {
  const text = body === null ? '' : JSON.stringify(body);
  const connection = new RawConnection(edge.port);
  const secret = path.startsWith('/pinecone') ? `Api-Key: ${KEY}` : `Authorization: Bearer ${KEY}`;
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', secret, `Content-Length: ${text.length}`];
  connection.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  return connection;
}

async function seatsTaken(): Promise<number> {
  const { text } = await edge.request('GET', '/metrics');
  const seats = text.matchAll(/^provec_gateway_seats_taken\{.*\} (\d+)$/gm);
  return [...seats].reduce((sum, [, count]) => sum + Number(count), 0);
}

const V1 = '/api/v1/collections/docs';
const PINECONE = '/pinecone/indexes/docs';
const tool = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: { collection: 'docs', ...args } },
});

test.each([
  ['POST', `${V1}/query`, { vector: [1, 2, 3] }],
  ['POST', `${V1}/queries`, { queries: [{ vector: [1, 2, 3] }] }],
  ['POST', `${V1}/fetch`, { ids: ['a'] }],
  ['POST', `${V1}/count`, {}],
  ['POST', `${V1}/facets`, { field: 'a' }],
  ['POST', `${V1}/list`, {}],
  ['GET', `${V1}/namespaces`, null],
  ['GET', `${V1}/export`, null],
  ['POST', `${V1}/delete`, { filter: { a: 1 }, dryRun: true }],
  ['POST', `${PINECONE}/query`, { vector: [1, 2, 3], topK: 1 }],
  ['GET', `${PINECONE}/namespaces`, null],
  ['POST', `${PINECONE}/describe_index_stats`, {}],
  ['POST', '/recall/api/v1/collections/docs/query', { vector: [1, 2, 3] }],
  ['POST', '/mcp', tool('search', { vector: [1, 2, 3] })],
  ['POST', '/mcp', tool('get', { ids: ['a'] })],
  ['POST', '/mcp', tool('list', {})],
  ['POST', '/mcp', tool('count', {})],
] as const)('%s %s returns its permit and is cancelled', async (method, path, body) => {
  const connection = ask(method, path, body);
  await until('the action has begun', () => working.length === 1);
  const [{ signal }] = working.splice(0);
  expect(await seatsTaken()).toBeGreaterThan(0);
  expect(signal!.aborted).toBe(false);
  connection.socket.destroy();
  if (!signal!.aborted) await once(signal!, 'abort');
  expect((signal!.reason as Cancelled).isClientGone).toBe(true);
  await until('the place is free', async () => (await seatsTaken()) === 0);
});

test('a delete that has begun is completed', async () => {
  const connection = ask('POST', `${V1}/delete`, { ids: ['a'] });
  await until('the action has begun', () => working.length === 1);
  const [{ signal, end }] = working.splice(0);
  const id = edge.log.length;
  connection.socket.destroy();
  await until('the gateway knows', () => edge.log.slice(id).some((line) => line.includes('"status":499')));
  expect(await seatsTaken()).toBe(1);
  expect(signal).toBeUndefined();
  end();
  await until('the place is free', async () => (await seatsTaken()) === 0);
});

test('what a failed action had begun is cancelled', async () => {
  const signals: AbortSignal[] = [];
  const failing = await startEdge({
    actions: {
      'collections.count': (_params, { signal }) => {
        signals.push(signal!);
        throw new Error('out of order');
      },
    },
  });
  expect((await failing.request('POST', `${V1}/count`, {})).status).toBe(500);
  expect((signals[0].reason as Cancelled).isClientGone).toBe(false);
  await failing.stop();
});
