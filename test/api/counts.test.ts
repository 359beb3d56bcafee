import { beforeAll, describe, expect, test } from '@jest/globals';
import { SHARD_COUNTS } from '../support/effort.ts';
import { naiveFacets, naiveMatches } from '../support/naive-filter.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const KINDS = ['book', 'sheet', 'note', ['book', 'note', 'book', ['list']], 4, null, true, { an: 'object' }];
const RECORDS = Array.from({ length: 600 }, (_, at) => ({
  id: `r${at}`,
  values: [1, at],
  metadata: at % 7 === 0 ? {} : { kind: KINDS[at % KINDS.length], pages: at % 40, deep: { of: `part${at % 3}` } },
}));

type Scalar = string | number | boolean | null;

/** Highest count first; ties in the order null, booleans, numbers, strings. */
function expectedFacets(field: string, filter: Record<string, unknown>, limit: number) {
  const matching = RECORDS.filter(({ metadata }) => naiveMatches(filter, metadata));
  const { counts, missing } = naiveFacets(
    field,
    matching.map(({ metadata }) => metadata),
  );
  const rank = (value: Scalar) =>
    [null, false, true].indexOf(value as null) +
    (typeof value === 'number' ? 4 : 0) +
    (typeof value === 'string' ? 5 : 0);
  const ordered = [...(counts as Map<Scalar, number>)].sort(
    ([a, m], [b, n]) => n - m || rank(a) - rank(b) || (a! < b! ? -1 : 1),
  );
  return { values: ordered.slice(0, limit).map(([value, count]) => ({ value, count })), missing };
}

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each(SHARD_COUNTS)('over %i shards', (shards) => {
  const path = `/collections/counted-${shards}`;
  const facets = async (body: object) => (await service.api('POST', `${path}/facets`, body)).body;
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

  test.each<[string, Record<string, unknown>, number]>([
    ['kind', {}, 20],
    ['pages', {}, 7],
    ['pages', { kind: { $in: ['book'] } }, 1],
    ['pages', { kind: 'book' }, 1_000],
    ['deep.of', { pages: { $lt: 9 } }, 20],
    ['absent', {}, 20],
  ])('counts the values of %s with filter %j, at most %i of them', async (field, filter, limit) => {
    const warned = field === 'absent' && { warnings: ['No record has the field absent.'] };
    expect(await facets({ field, filter, limit })).toEqual({ ...expectedFacets(field, filter, limit), ...warned });
  });

  test('sees every write acknowledged before it', async () => {
    await service.api('POST', `${path}/upsert`, { records: [{ id: 'new', values: [1, 1], metadata: { only: 1 } }] });
    expect(await count({ filter: { only: 1 } })).toEqual({ count: 1 });
    await service.api('POST', `${path}/delete`, { ids: ['new'] });
    expect(await count({ filter: { only: 1 } })).toMatchObject({ count: 0 });
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

test.each<[string, object]>([
  ['no field', {}],
  ['a field of no letters', { field: '' }],
  ['a list of fields', { field: ['kind'] }],
  ['no values wanted', { field: 'kind', limit: 0 }],
  ['1,001 values wanted', { field: 'kind', limit: 1_001 }],
])('refuses facets of %s', async (_, body) => {
  const { status, body: answer } = await service.api('POST', '/collections/counted-1/facets', body);
  expect([status, answer]).toMatchObject([400, { code: 'INVALID_ARGUMENT' }]);
});

test('another account gets 404', async () => {
  expect(await service.api('POST', '/collections/nowhere/count', {})).toMatchObject({
    status: 404,
    body: { code: 'COLLECTION_NOT_FOUND' },
  });
});
