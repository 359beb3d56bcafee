/** Writing, reading, changing and deleting vectors as Pinecone's clients do. */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type PineconeApi, pineconeApi } from '../../support/pinecone-api.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';

let service: SharedService;
let pinecone: PineconeApi;
let name = '';
let count = 0;
beforeAll(async () => {
  service = await shareService();
  pinecone = pineconeApi(service.url, service.key);
});

const USAGE = { readUnits: 1 };
const index = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
  pinecone<T>(method, `/indexes/${name}${path}`, body);
const make = async (metric: string) => {
  name = `vectors-${metric}-${count++}`;
  expect((await pinecone('POST', '/indexes', { name, dimension: 2, metric })).status).toBe(201);
};
const upsert = (vectors: object[], namespace?: string | null) =>
  index('POST', '/vectors/upsert', { vectors, namespace });
const query = async (body: object) => (await index('POST', '/query', body)).body;
const three = [1, 2, 3].map((n) => ({ id: `v${n}`, values: [n, 0], metadata: { n } }));

describe('with the dot product', () => {
  beforeEach(() => make('dotproduct'));

  test('upsert accepts unknown fields, nulls and missing metadata', async () => {
    const vectors = [{ id: 'a', values: [1, 2], sparseValues: null, metadata: null, other: 1 }, three[0]!];
    expect(await index('POST', '/vectors/upsert', { vectors, unknown: true })).toMatchObject({
      status: 200,
      body: { upsertedCount: 2 },
    });
    const { body } = await index('GET', '/vectors/fetch?ids=a&ids=v1&ids=none&unknown=1');
    expect(body).toEqual({
      vectors: { a: { id: 'a', values: [1, 2] }, v1: three[0] },
      namespace: '',
      usage: USAGE,
    });
  });

  test('an empty sparse vector counts as absent', async () => {
    const sparse = { indices: [], values: [] };
    const vectors = [
      { ...three[0]!, sparseValues: sparse },
      { ...three[1]!, sparseValues: {} },
    ];
    expect((await index('POST', '/vectors/upsert', { vectors })).status).toBe(200);
    expect(await query({ topK: 1, vector: [1, 0], sparseVector: sparse })).toMatchObject({ matches: [{ id: 'v2' }] });
    const change = { id: 'v1', sparseValues: sparse, setMetadata: { k: 1 } };
    expect((await index('POST', '/vectors/update', change)).status).toBe(200);
    for (const wrong of [{ indices: [1], values: [] }, { indices: [], values: [1] }, [], 'x', { indices: 1 }])
      expect((await index('POST', '/query', { topK: 1, vector: [1, 0], sparseVector: wrong })).status).toBe(400);
  });

  test('a query leaves out metadata and values unless requested', async () => {
    await upsert(three);
    expect(await query({ topK: 2, vector: [1, 0] })).toEqual({
      matches: [
        { id: 'v3', score: 3, values: [] },
        { id: 'v2', score: 2, values: [] },
      ],
      namespace: '',
      usage: USAGE,
    });
    expect(
      await query({
        topK: 1,
        id: 'v1',
        vector: [],
        includeMetadata: true,
        includeValues: true,
        filter: { n: { $lt: 3 } },
      }),
    ).toMatchObject({ matches: [{ id: 'v2', score: 2, values: [2, 0], metadata: { n: 2 } }] });
    expect(await query({ topK: 9, vector: [1, 0], filter: {}, scanFactor: 2 })).toMatchObject({
      matches: { length: 3 },
    });
  });

  test('an unknown namespace and an unknown id match nothing', async () => {
    await upsert(three);
    expect(await query({ topK: 2, vector: [1, 0], namespace: 'none' })).toMatchObject({
      matches: [],
      namespace: 'none',
    });
    expect(await query({ topK: 2, id: 'none' })).toMatchObject({ matches: [] });
    expect((await index('GET', '/vectors/fetch?ids=v1&namespace=none')).body).toMatchObject({ vectors: {} });
  });

  test('the default namespace has three names', async () => {
    await upsert([three[0]!]);
    await upsert([three[1]!], '__default__');
    await upsert([three[2]!], null);
    for (const namespace of ['__default__', '', undefined, null])
      expect(await query({ topK: 9, vector: [1, 0], namespace })).toMatchObject({ matches: { length: 3 } });
    for (const namespace of ['__default__', ''])
      expect((await index('GET', `/vectors/list?namespace=${namespace}`)).body).toMatchObject({
        vectors: { length: 3 },
      });
  });

  test('list pages through ids in byte order', async () => {
    await upsert([...three, { id: 'w', values: [1, 1] }]);
    const first = await index<{ pagination: { next: string } }>('GET', '/vectors/list?prefix=v&limit=2');
    expect(first.body).toEqual({
      vectors: [{ id: 'v1' }, { id: 'v2' }],
      pagination: { next: expect.any(String) },
      namespace: '',
      usage: USAGE,
    });
    const last = await index('GET', `/vectors/list?prefix=v&limit=2&paginationToken=${first.body.pagination.next}`);
    expect(last.body).toEqual({ vectors: [{ id: 'v3' }], namespace: '', usage: USAGE });
    expect(await index('GET', '/vectors/list?paginationToken=x')).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^paginationToken must be/) },
    });
    expect((await index('GET', '/vectors/list?limit=x')).status).toBe(400);
  });

  test('fetch by metadata pages', async () => {
    await upsert(three);
    const asked = { filter: { n: { $gte: 2 } }, limit: 1 };
    const first = await index<{ pagination: { next: string } }>('POST', '/vectors/fetch_by_metadata', asked);
    expect(first.body).toMatchObject({ vectors: { v2: three[1] }, pagination: { next: expect.any(String) } });
    const rest = { ...asked, limit: 9, paginationToken: first.body.pagination.next };
    expect((await index('POST', '/vectors/fetch_by_metadata', rest)).body).toEqual({
      vectors: { v3: three[2] },
      namespace: '',
      usage: USAGE,
    });
  });

  test('update by id and by filter', async () => {
    await upsert(three);
    const byId = { id: 'v1', values: [9, 9], setMetadata: { k: 'v' } };
    expect(await index('POST', '/vectors/update', byId)).toMatchObject({ status: 200, body: {} });
    const byFilter = { filter: { n: { $gte: 2 } }, setMetadata: { k: 'w' } };
    expect((await index('POST', '/vectors/update', { ...byFilter, dryRun: true })).body).toEqual({ matchedRecords: 2 });
    expect((await index('POST', '/vectors/update', byFilter)).body).toEqual({ matchedRecords: 2 });
    expect((await index('GET', '/vectors/fetch?ids=v1&ids=v3')).body).toMatchObject({
      vectors: {
        v1: { id: 'v1', values: [9, 9], metadata: { n: 1, k: 'v' } },
        v3: { id: 'v3', values: [3, 0], metadata: { n: 3, k: 'w' } },
      },
    });
    const wrong = await index('POST', '/vectors/update', { id: 'v1', values: [1] });
    expect([wrong.status, wrong.body.message]).toEqual([
      400,
      'values has 1 number, but the collection has 2 dimensions.',
    ]);
    expect((await index('POST', '/vectors/update', { filter: { n: 1 }, values: [1, 1] })).status).toBe(400);
  });

  test('delete by id, by filter and all; an unknown namespace is a 404', async () => {
    await upsert(three);
    await upsert(three, 'other');
    const remove = async (body: object) => {
      const { status, body: answer } = await index('POST', '/vectors/delete', body);
      return status === 200 ? answer : status;
    };
    expect(await remove({ ids: ['v1'], deleteAll: false, filter: null })).toEqual({});
    expect(await remove({ filter: { n: 2 } })).toEqual({});
    expect(await remove({ filter: {} })).toBe(400);
    expect(await remove({})).toBe(400);
    expect(await remove({ ids: ['v1'] })).toEqual({});
    expect(await remove({ deleteAll: true, namespace: 'none' })).toBe(404);
    expect(await remove({ ids: ['none'], namespace: 'other' })).toEqual({});
    expect(await remove({ deleteAll: true, namespace: 'other' })).toEqual({});
    expect(await query({ topK: 9, vector: [1, 0] })).toMatchObject({ matches: [{ id: 'v3' }] });
    expect(await query({ topK: 9, vector: [1, 0], namespace: 'other' })).toMatchObject({ matches: [] });
  });

  test.each([
    [{ vectors: [{ id: 'a', values: [1] }] }, 'vectors[0].values has 1 number, but the collection has 2 dimensions.'],
    [{ vectors: [three[0], { id: '', values: [1, 2] }] }, /^vectors\[1\]\.id must be a string of 1 to 512/],
    [
      { vectors: [{ ...three[0], sparseValues: { indices: [1], values: [1] } }] },
      /^vectors\[0\]\.sparseValues must be absent/,
    ],
    [{ vectors: [] }, /^vectors must be an array of 1 to 1,000/],
    [{ vectors: three, namespace: 7 }, /^namespace must be a string/],
  ])('an invalid write gets a 400 that names the field: %#', async (body, message) => {
    const { status, body: refusal } = await index('POST', '/vectors/upsert', body);
    expect([status, refusal.message]).toEqual([
      400,
      typeof message === 'string' ? message : expect.stringMatching(message),
    ]);
    expect(refusal).toEqual({
      status: 400,
      error: { code: 'INVALID_ARGUMENT', message: refusal.message },
      code: 3,
      message: refusal.message,
      details: [],
    });
  });
});

test.each([
  ['/vectors/delete', {}, /^ids must be given, or filter, or deleteAll: exactly one of them, but is missing/],
  ['/vectors/delete', { ids: ['a'], deleteAll: true }, /^ids must be given, .* but is not alone/],
  ['/vectors/update', { setMetadata: { a: 1 } }, /^id must be given, or filter: exactly one of them, but is missing/],
  ['/vectors/update', { id: 'a', filter: { n: 1 }, setMetadata: { a: 1 } }, /^id must be given, .* but is not alone/],
  ['/vectors/update', { id: 'a', setMetadata: { 'x$&': 'y'.repeat(50_000) } }, /^setMetadata/],
])("an ambiguous selection of vectors gets a 400 in Pinecone's words: %s %j", async (path, body, message) => {
  const { status, body: refusal } = await index('POST', path, body);
  expect([status, refusal.message]).toEqual([400, expect.stringMatching(message)]);
});

test('a euclidean score beyond float32 becomes the largest float32', async () => {
  await make('euclidean');
  await index('POST', '/vectors/upsert', { vectors: [{ id: 'far', values: [1e20, 1e20] }] });
  expect(await query({ topK: 1, vector: [0, 0] })).toMatchObject({ matches: [{ score: 3.4028234663852886e38 }] });
});

test('a euclidean score is the squared distance, lowest first', async () => {
  await make('euclidean');
  await upsert(three);
  expect(await query({ topK: 3, vector: [1, 1] })).toMatchObject({
    matches: [
      { id: 'v1', score: 1 },
      { id: 'v2', score: 2 },
      { id: 'v3', score: 5 },
    ],
  });
});

test('every record is equally near to a zero vector', async () => {
  await make('cosine');
  await upsert(three);
  expect(await query({ topK: 2, vector: [0, 0], includeValues: true, filter: { n: { $gt: 1 } } })).toMatchObject({
    matches: [
      { id: 'v2', score: 0, values: [2, 0] },
      { id: 'v3', score: 0, values: [3, 0] },
    ],
  });
  expect((await index('POST', '/vectors/upsert', { vectors: [{ id: 'z', values: [0, 0] }] })).status).toBe(400);
});

test('verify and proofs cover what was written here', async () => {
  await make('cosine');
  await upsert(three, 'ns');
  expect((await service.api('GET', `/collections/${name}/verify`)).body).toMatchObject({ vectorCount: 3 });
  expect((await service.api('GET', `/collections/${name}/proof?id=v1&namespace=ns`)).body).toMatchObject({
    proof: { id: 'v1', present: true },
  });
});
