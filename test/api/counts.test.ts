import { beforeAll, describe, expect, test } from '@jest/globals';
import { naiveMatches } from '../support/naive-filter.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const KINDS = ['book', 'sheet', 'note', ['book', 'note'], 4, null];
const RECORDS = Array.from({ length: 600 }, (_, at) => ({
  id: `r${at}`,
  values: [1, at],
  metadata: at % 7 === 0 ? {} : { kind: KINDS[at % KINDS.length], pages: at % 40, deep: { of: `part${at % 3}` } },
}));

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each([1, 4, 16])('over %i shards', (shards) => {
  const path = `/collections/counted-${shards}`;
  const count = async (body: object) => (await service.api('POST', `${path}/count`, body)).body;

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `counted-${shards}`, dimensions: 2, shards });
    await service.api('POST', `${path}/upsert`, { records: RECORDS });
  });

  test('counts all records without a filter', async () => {
    expect(await count({})).toEqual({ count: 600 });
    expect(await count({ filter: {} })).toEqual({ count: 600 });
    expect(await count({ consistency: 'eventual' })).toEqual({ count: 600 });
  });

  test.each<Record<string, unknown>>([
    { kind: 'book' },
    { kind: { $ne: 'book' } },
    { pages: { $gte: 10, $lt: 20 } },
    { $or: [{ 'deep.of': 'part1' }, { kind: null }] },
    { kind: { $exists: false } },
    { kind: 'absent' },
  ])('counts what %j matches', async (filter) => {
    const matching = RECORDS.filter(({ metadata }) => naiveMatches(filter, metadata)).length;
    expect(await count({ filter })).toEqual({ count: matching });
  });

  test('sees every write acknowledged before it', async () => {
    await service.api('POST', `${path}/upsert`, { records: [{ id: 'new', values: [1, 1], metadata: { only: 1 } }] });
    expect(await count({ filter: { only: 1 } })).toEqual({ count: 1 });
    await service.api('POST', `${path}/delete`, { ids: ['new'] });
    expect(await count({ filter: { only: 1 } })).toEqual({ count: 0 });
  });
});

test.each<[string, object, string]>([
  ['an unknown operator', { filter: { a: { $near: 1 } } }, 'INVALID_FILTER'],
  ['an unknown field', { filters: {} }, 'INVALID_ARGUMENT'],
  ['null for a filter', { filter: null }, 'INVALID_FILTER'],
])('refuses %s', async (_, body, code) => {
  expect(await service.api('POST', '/collections/counted-1/count', body)).toMatchObject({
    status: 400,
    body: { code },
  });
});

test('another account finds no such collection', async () => {
  expect(await service.api('POST', '/collections/nowhere/count', {})).toMatchObject({
    status: 404,
    body: { code: 'COLLECTION_NOT_FOUND' },
  });
});
