/** Number of expensive requests that one account may run at a time. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { unknownCollection } from '../../../../lib/errors.ts';
import { until } from '../../../support/until.ts';
import { type Edge, KEY, startEdge } from './harness.ts';

const SHARDS = 256;
const SENT = 12;
const ROW = { id: 'c1', accountId: 'a1', dimensions: 3, metric: 'cosine' };
const ACTIONS = [
  'list',
  'aliasesPage',
  'get',
  'namespaces',
  'facets',
  'proof',
  'delete',
  'deleteNamespace',
  'updateRecords',
  'query',
  'queries',
  'count',
  'listRecords',
];

/** Functions that end the running actions. */
const working: (() => void)[] = [];
const work = () =>
  new Promise<object>((end) =>
    working.push(() =>
      end({ collections: [], namespaces: [], values: [], matches: [], results: [], records: [], count: 0 }),
    ),
  );

let edge: Edge;
beforeAll(async () => {
  const actions = Object.fromEntries(ACTIONS.map((name) => [`collections.${name}`, work]));
  edge = await startEdge({
    actions: {
      ...actions,
      'collections.fetch': () => work().then(() => []),
      'keys.page': work,
      'collections.resolve': ({ name }) => {
        if (name === 'unknown') throw unknownCollection(name);
        return { ...ROW, name, shards: name === 'wide' ? SHARDS : 1 };
      },
      'collections.nearestName': work,
      'shards.stats': () => ({}),
      'anchoring.stats': () => ({}),
    },
  });
});
afterAll(() => edge.stop());

async function waiting(): Promise<number> {
  const { text } = await edge.request('GET', '/metrics');
  const counts = text.matchAll(/^provec_gateway_waiting_requests\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

const WIDE = '/api/v1/collections/wide';
const DELETE = { filter: { a: 1 } };
const UPDATE = { filter: { a: 1 }, setMetadata: { b: 1 } };
const DRY_DELETE = { ...DELETE, dryRun: true };
const DRY_UPDATE = { ...UPDATE, dryRun: true };
const PINECONE = '/pinecone/indexes/wide';

test.each([
  ['GET', '/api/v1/collections', undefined, 2],
  ['GET', '/api/v1/aliases', undefined, 2],
  ['GET', '/api/v1/keys', undefined, 2],
  ['GET', '/pinecone/indexes', undefined, 2],
  ['GET', '/api/v1/collections/unknown', undefined, 2],
  ['GET', WIDE, undefined, 1],
  ['GET', `${WIDE}/proof?id=a`, undefined, 1],
  ['GET', `${WIDE}/verify?id=a`, undefined, 1],
  ['POST', `${WIDE}/delete`, DRY_DELETE, 1],
  ['POST', `${WIDE}/update`, DRY_UPDATE, 1],
  ['POST', `${WIDE}/delete`, DELETE, 2],
  ['POST', `${WIDE}/delete`, { all: true }, 2],
  ['POST', `${WIDE}/delete`, { ids: ['a'] }, SENT],
  ['DELETE', `${WIDE}/namespaces/a`, undefined, 2],
  ['POST', `${WIDE}/update`, UPDATE, 2],
  ['POST', `${WIDE}/update`, { updates: [{ id: 'a', setMetadata: { b: 1 } }] }, SENT],
  ['POST', `${PINECONE}/vectors/delete`, DELETE, 2],
  ['POST', `${PINECONE}/vectors/delete`, { deleteAll: true }, 2],
  ['POST', '/recall/api/v1/collections/wide/delete', DELETE, 2],
  ['DELETE', `${PINECONE}/namespaces/a`, undefined, 2],
  ['POST', `${PINECONE}/vectors/update`, UPDATE, 2],
  ['GET', '/api/v1/collections/narrow/namespaces', undefined, 2],
  ['POST', '/api/v1/collections/narrow/facets', { field: 'a' }, 2],
  ['GET', '/pinecone/indexes/narrow/namespaces', undefined, 2],
  ['GET', '/pinecone/indexes/narrow/describe_index_stats', undefined, 2],
  ['GET', '/api/v1/collections/narrow', undefined, SENT],
  ['POST', '/api/v1/collections/narrow/delete', DRY_DELETE, SENT],
  ['POST', '/api/v1/collections/narrow/delete', DELETE, SENT],
  ['POST', '/api/v1/collections/narrow/update', UPDATE, SENT],
  ['POST', '/api/v1/collections/narrow/query', { vector: [1, 2, 3], topK: 10_000 }, 2],
  ['POST', '/api/v1/collections/narrow/query', { vector: [1, 2, 3], topK: 125 }, SENT],
  ['POST', '/api/v1/collections/narrow/queries', { queries: Array(2).fill({ vector: [1, 2, 3], topK: 5_000 }) }, 2],
  ['POST', '/api/v1/collections/narrow/list', { limit: 1_000 }, 2],
  ['POST', '/pinecone/indexes/narrow/vectors/fetch_by_metadata', { filter: { a: 1 }, limit: 1_000 }, 2],
  ['GET', '/pinecone/indexes/narrow/vectors/list?limit=1000', undefined, 2],
  ['GET', '/pinecone/indexes/narrow/vectors/list', undefined, SENT],
  ['POST', '/api/v1/collections/narrow/count', {}, SENT],
  ['POST', '/pinecone/indexes/narrow/query', { vector: [1, 2, 3], topK: 10_000 }, 2],
])('of %s %s %j an account runs %i at a time', async (method, path, body, most) => runAtMost(method, path, body, most));

test('of reads with bodies of 2 MB an account runs 2 at a time', () =>
  runAtMost(
    'POST',
    '/api/v1/collections/narrow/count',
    { filter: { a: { $in: Array(10_000).fill('x'.repeat(200)) } } },
    2,
  ));

test.each([
  ['/api/v1', 1_000, 2],
  ['/recall/api/v1', 1_000, 2],
  ['/api/v1', 40, SENT],
])('below %s, of fetches of %i records an account runs %i at a time', (base, count, most) => {
  const ids = Array.from({ length: count }, (_, at) => `r${at}`);
  return runAtMost('POST', `${base}/collections/narrow/fetch`, { ids }, most);
});

test.each([
  [1_000, 2],
  [40, SENT],
])('of fetches of %i records by GET an account runs %i at a time', (count, most) => {
  const ids = Array.from({ length: count }, (_, at) => `ids=r${at}`).join('&');
  return runAtMost('GET', `/pinecone/indexes/narrow/vectors/fetch?${ids}`, undefined, most);
});

/** Sends a request several times, and expects that `most` of them run at a time. */
async function runAtMost(method: string, path: string, body: object | undefined, most: number): Promise<void> {
  const asked = Array.from({ length: SENT }, () => edge.request(method, path, body, { 'api-key': KEY }));
  await until('some are under way', () => working.length === most);
  await until('the others wait', async () => (await waiting()) === SENT - most);
  expect(working).toHaveLength(most);
  for (let left = SENT; left > 0; left--) (await until('one more is under way', () => working.shift()))();
  await Promise.all(asked);
}

test('a delete by id begins while a delete of the same account reads 256 shards', async () => {
  const send = (body: object) => edge.request('POST', `${WIDE}/delete`, body, { 'api-key': KEY });
  const sent = [send(DELETE)];
  await until('one is under way', () => working.length === 1);
  sent.push(send({ ids: ['a'] }));
  await until('both are under way', () => working.length === 2);
  for (const end of working.splice(0)) end();
  await Promise.all(sent);
});
