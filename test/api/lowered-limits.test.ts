import { beforeEach, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../process/config.ts';
import type { Api } from '../support/api-client.ts';
import { pineconeApi } from '../support/pinecone-api.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { operatorApi } from '../support/tenant.ts';

let service: SharedService;
// A new account per test, because the service also limits requests per second and key.
beforeEach(async () => {
  service = await shareService('strict');
  await service.api('POST', '/collections', { name: 'low', dimensions: 2 });
});

const at = (path: string, body: object) => service.api('POST', path, body);
const values = [1, 2];
const records = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `r${n}`, values }));
const upsert = (record: object) => at('/collections/low/upsert', { records: [{ id: 'a', values, ...record }] });
const query = (body: object) => at('/collections/low/query', { vector: values, ...body });
const create = (body: object) => at('/collections', { dimensions: 2, ...body });

type Request = () => ReturnType<SharedService['api']>;
test.each<[string, Request, Request, object]>([
  ['nameMaxChars', () => create({ name: 'a2345678' }), () => create({ name: 'a23456789' }), refusalOf('name')],
  [
    'dimensionsMax',
    () => create({ name: 'd', dimensions: 4 }),
    () => create({ name: 'e', dimensions: 5 }),
    refusalOf('dimensions'),
  ],
  ['shardsMax', () => create({ name: 's', shards: 2 }), () => create({ name: 't', shards: 4 }), refusalOf('shards')],
  [
    'replicasMax',
    () => create({ name: 'r', replicas: 1 }),
    () => create({ name: 'q', replicas: 2 }),
    refusalOf('replicas'),
  ],
  ['idMaxBytes', () => upsert({ id: '123456' }), () => upsert({ id: 'éééé' }), refusalOf('records[0].id')],
  [
    'metadataMaxBytes',
    () => upsert({ metadata: { t: 'x'.repeat(32) } }),
    () => upsert({ metadata: { t: 'x'.repeat(33) } }),
    refusalOf('records[0].metadata'),
  ],
  [
    'metadataMaxLevels',
    () => upsert({ metadata: { a: {} } }),
    () => upsert({ metadata: { a: { b: {} } } }),
    refusalOf('records[0].metadata'),
  ],
  [
    'recordsPerUpsertMax',
    () => at('/collections/low/upsert', { records: records(3) }),
    () => at('/collections/low/upsert', { records: records(4) }),
    refusalOf('records'),
  ],
  [
    'idsPerRequestMax',
    () => at('/collections/low/fetch', { ids: ['a', 'b', 'c', 'd'] }),
    () => at('/collections/low/fetch', { ids: ['a', 'b', 'c', 'd', 'e'] }),
    refusalOf('ids'),
  ],
  ['topKMax', () => query({ topK: 5 }), () => query({ topK: 6 }), refusalOf('topK')],
  [
    'bodyMaxBytes',
    () => at('/collections/low/fetch', { ids: ['a'] }),
    () => at('/collections/low/fetch', { ids: ['x'.repeat(2_000)] }),
    refusal(413, 'BODY_TOO_LARGE'),
  ],
  [
    'jsonMaxLevels',
    () => query({ filter: { a: 1 } }),
    () => query({ filter: JSON.parse(`${'{"a":'.repeat(12)}1${'}'.repeat(12)}`) }),
    refusal(400, 'INVALID_JSON'),
  ],
  [
    'filterMaxLevels',
    () => query({ filter: { $not: { a: 1 } } }),
    () => query({ filter: { $not: { $not: { a: 1 } } } }),
    refusal(400, 'INVALID_FILTER', { details: [expect.objectContaining({ expected: 'at most 2 levels' })] }),
  ],
  [
    'filterMaxConditions',
    () => query({ filter: { a: 1, b: 1, c: 1 } }),
    () => query({ filter: { a: 1, b: 1, c: 1, d: 1 } }),
    refusal(400, 'INVALID_FILTER', { details: [expect.objectContaining({ expected: 'at most 3 conditions' })] }),
  ],
  [
    'filterMaxInValues',
    () => query({ filter: { a: { $in: [1, 2, 3, 4] } } }),
    () => query({ filter: { a: { $in: [1, 2, 3, 4, 5] } } }),
    refusal(400, 'INVALID_FILTER', { details: [expect.objectContaining({ path: 'filter.a.$in' })] }),
  ],
  [
    'collectionsPageMax',
    () => service.api('GET', '/collections?limit=3'),
    () => service.api('GET', '/collections?limit=4'),
    refusalOf('limit'),
  ],
  [
    'aliasesPageMax',
    () => service.api('GET', '/aliases?limit=2'),
    () => service.api('GET', '/aliases?limit=3'),
    refusalOf('limit'),
  ],
  [
    'keysPageMax',
    () => service.api('GET', '/keys?limit=2'),
    () => service.api('GET', '/keys?limit=3'),
    refusalOf('limit'),
  ],
  [
    'accountsPageMax',
    () => operatorApi(service)('GET', '/admin/accounts?limit=3'),
    () => operatorApi(service)('GET', '/admin/accounts?limit=4'),
    refusalOf('limit'),
  ],
  [
    'anchorsPageMax',
    () => service.api('GET', '/collections/low/anchors?limit=6'),
    () => service.api('GET', '/collections/low/anchors?limit=7'),
    refusalOf('limit'),
  ],
  ['keyNameMaxChars', () => at('/keys', { name: '12345' }), () => at('/keys', { name: '123456' }), refusalOf('name')],
  [
    'accountNameMaxChars',
    () => operatorApi(service)('POST', '/admin/accounts', { name: '1234567', plan: 'free' }),
    () => operatorApi(service)('POST', '/admin/accounts', { name: '12345678', plan: 'free' }),
    refusalOf('name'),
  ],
])('%s', async (_, allowed, refused, answer) => {
  expect([200, 201]).toContain((await allowed()).status);
  expect(await refused()).toEqual(answer);
});

describe('a list without a limit', () => {
  /** Returns the names on each page. */
  async function pages(api: Api, path: string, field: string, name = 'name'): Promise<string[][]> {
    const found: string[][] = [];
    for (let cursor = ''; ; ) {
      const { status, body } = await api<Record<string, unknown>>('GET', path + cursor);
      expect(status).toBe(200);
      found.push((body[field] as Record<string, string>[]).map((each) => each[name]!));
      if (body.nextCursor === undefined) return found;
      cursor = `?cursor=${body.nextCursor}`;
    }
  }

  test('returns a page of each', async () => {
    for (const name of ['a', 'b', 'c']) {
      expect((await create({ name })).status).toBe(201);
      expect((await at('/keys', { name })).status).toBe(201);
      expect((await service.api('PUT', `/aliases/${name}x`, { collection: name })).status).toBe(201);
    }
    expect(await pages(service.api, '/collections', 'collections')).toEqual([['c', 'b', 'a'], ['low']]);
    const [first, ...rest] = await pages(service.api, '/keys', 'keys');
    expect(first).toEqual(['c', 'b']);
    expect(rest.flat()[0]).toBe('a');
    expect(await pages(service.api, '/aliases', 'aliases', 'alias')).toEqual([['ax', 'bx'], ['cx']]);
    const accounts = await pages(operatorApi(service), '/admin/accounts', 'accounts', 'id');
    expect(accounts.length).toBe(Math.ceil(accounts.flat().length / 3));
    expect(new Set(accounts.flat()).size).toBe(accounts.flat().length);
  });

  test('returns all indexes on /pinecone, whose clients do not use pages', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await create({ name });
    const { body } = await pineconeApi(service.url, service.key)('GET', '/indexes');
    expect((body as { indexes: { name: string }[] }).indexes.map(({ name }) => name)).toEqual([
      'd',
      'c',
      'b',
      'a',
      'low',
    ]);
  });

  test.each(['/collections', '/keys', '/aliases'])('%s refuses an invalid cursor', async (path) => {
    expect(await service.api('GET', `${path}?cursor=made-up`)).toEqual(refusalOf('cursor'));
  });
});

test('a default above a lowered maximum is lowered with it', async () => {
  const limitsOf = (limits: string) => readConfig({ PROVEC_LIMITS: limits }).limits;
  expect(limitsOf('{"topKMax": 5}')).toMatchObject({ topKMax: 5, topKDefault: 5 });
  expect(limitsOf('{"topKDefault": 7, "topKMax": 3}')).toMatchObject({ topKMax: 3, topKDefault: 3 });
  expect(limitsOf('{"topKMax": 50}')).toMatchObject({ topKMax: 50, topKDefault: 10 });
  expect(limitsOf('{"anchorsPageMax": 9}')).toMatchObject({ anchorsPageMax: 9, anchorsPageDefault: 9 });
});

describe('defaults', () => {
  test('topKDefault', async () => {
    await at('/collections/low/upsert', { records: records(3) });
    const { body } = await query({});
    expect(body.matches).toHaveLength(2);
  });

  test('anchorsPageDefault', async () => {
    for (const id of ['x', 'y', 'z']) await upsert({ id });
    const { body } = await service.api('GET', '/collections/low/anchors');
    expect(body).toMatchObject({ anchors: { length: 2 }, nextCursor: expect.any(String) });
  });
});

test.each([
  ['raised', '{"topKMax": 10001}'],
  ['zero', '{"topKMax": 0}'],
  ['a fraction', '{"topKMax": 1.5}'],
  ['text', '{"topKMax": "5"}'],
  ['unknown', '{"topk": 5}'],
  ['not an object', '[5]'],
  ['not JSON', 'topKMax=5'],
])('a limit that is %s stops the start with a line that names the variable', (_, limits) => {
  expect(() => readConfig({ PROVEC_LIMITS: limits })).toThrow(/^PROVEC_LIMITS must be [^\n]+\.$/);
});
