/** Namespaces of an index, and its statistics, as Pinecone's clients read them. */
import { beforeAll, expect, test } from '@jest/globals';
import { type PineconeApi, pineconeApi } from '../../support/pinecone-api.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';

let service: SharedService;
let pinecone: PineconeApi;
const NAME = 'spaces';
beforeAll(async () => {
  service = await shareService();
  pinecone = pineconeApi(service.url, service.key);
  await pinecone('POST', '/indexes', { name: NAME, dimension: 1, metric: 'dotproduct' });
  for (const [namespace, count] of [
    ['', 1],
    ['a', 2],
    ['ab', 3],
    ['b', 1],
  ] as const) {
    const vectors = Array.from({ length: count }, (_, at) => ({ id: `v${at}`, values: [at] }));
    await pinecone('POST', `/indexes/${NAME}/vectors/upsert`, { vectors, namespace });
  }
});
const index = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
  pinecone<T>(method, `/indexes/${NAME}${path}`, body);

test('statistics count the vectors of each namespace', async () => {
  const stats = {
    namespaces: {
      __default__: { vectorCount: 1 },
      a: { vectorCount: 2 },
      ab: { vectorCount: 3 },
      b: { vectorCount: 1 },
    },
    dimension: 1,
    indexFullness: 0,
    totalVectorCount: 7,
    metric: 'dotproduct',
    vectorType: 'dense',
  };
  expect((await index('POST', '/describe_index_stats', {})).body).toEqual(stats);
  expect((await index('POST', '/describe_index_stats', { filter: {} })).body).toEqual(stats);
  expect((await index('POST', '/describe_index_stats')).body).toEqual(stats);
  expect((await index('GET', '/describe_index_stats')).body).toEqual(stats);
  expect((await index('POST', '/describe_index_stats', { filter: { a: 1 } })).status).toBe(400);
});

test('they are listed by name, in pages', async () => {
  const first = await index<{ pagination: { next: string } }>('GET', '/namespaces?limit=3');
  expect(first.body).toEqual({
    namespaces: [
      { name: '__default__', record_count: '1' },
      { name: 'a', record_count: '2' },
      { name: 'ab', record_count: '3' },
    ],
    total_count: 4,
    pagination: { next: expect.any(String) },
  });
  const next = encodeURIComponent(first.body.pagination.next);
  expect((await index('GET', `/namespaces?limit=3&paginationToken=${next}`)).body).toEqual({
    namespaces: [{ name: 'b', record_count: '1' }],
    total_count: 4,
  });
  expect((await index('GET', '/namespaces?prefix=a')).body).toMatchObject({
    namespaces: { length: 2 },
    total_count: 2,
  });
  // The total stays that of the first page: later pages do not count all namespaces again.
  await index('POST', '/vectors/upsert', { vectors: [{ id: 'c', values: [1] }], namespace: 'c' });
  expect((await index('GET', `/namespaces?limit=1&paginationToken=${next}`)).body).toMatchObject({ total_count: 4 });
  await index('DELETE', '/namespaces/c');
  expect((await index('GET', '/namespaces?paginationToken=7.none')).status).toBe(400);
  expect((await index('GET', '/namespaces?limit=0')).status).toBe(400);
});

test('describes, creates (by its first record) and deletes one', async () => {
  expect((await index('GET', '/namespaces/ab')).body).toEqual({ name: 'ab', record_count: '3' });
  expect((await index('GET', '/namespaces/__default__')).body).toEqual({ name: '__default__', record_count: '1' });
  expect((await index('GET', '/namespaces/none')).status).toBe(404);
  expect(await index('POST', '/namespaces', { name: 'new' })).toMatchObject({
    status: 200,
    body: { name: 'new', record_count: '0' },
  });
  expect((await index('POST', '/namespaces', {})).status).toBe(400);
  expect(await index('DELETE', '/namespaces/b')).toMatchObject({ status: 200, body: {} });
  expect((await index('DELETE', '/namespaces/b')).status).toBe(404);
  expect((await index('GET', '/namespaces/b')).status).toBe(404);
});
