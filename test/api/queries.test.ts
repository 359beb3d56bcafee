import { beforeAll, describe, expect, test } from '@jest/globals';
import { LIMITS } from '../../lib/limits.ts';
import { SHARD_COUNTS } from '../support/effort.ts';
import { METERED_LIMIT } from '../support/lending.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

const RECORDS = Array.from({ length: 200 }, (_, at) => ({
  id: `r${at}`,
  values: [1, at % 14, at],
  metadata: { at, even: at % 2 === 0 },
}));
const QUERIES = [
  { vector: [1, 2, 3] },
  { vector: [1, 0, 0], topK: 3, includeValues: true },
  { id: 'r7', topK: 5, includeMetadata: false },
  { vector: [1, 5, 100], filter: { even: true }, topK: 200 },
  { vector: [1, 5, 100], filter: { at: { $lt: 0 } } },
  { vector: [1, 2, 3], namespace: 'n', topK: 2 },
  { vector: [0, 1, 0], consistency: 'eventual', exact: true },
  { vector: [0, 1, 0], allowPartial: true, topK: 4 },
  { vector: [1, 1, 1], scoreThreshold: 0.99, topK: 100 },
];

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each(SHARD_COUNTS)('over %i shards', (shards) => {
  const path = `/collections/many-${shards}`;
  const post = (operation: string, body: object) => service.api('POST', `${path}/${operation}`, body);

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `many-${shards}`, dimensions: 3, shards });
    await post('upsert', { records: RECORDS });
    await post('upsert', { namespace: 'n', records: RECORDS.slice(0, 3) });
  });

  test('answers each query, in order, as if it were alone', async () => {
    const alone = await Promise.all(QUERIES.map(async (query) => (await post('query', query)).body));
    expect(await post('queries', { queries: QUERIES })).toMatchObject({ status: 200, body: { results: alone } });
    expect((await post('queries', { queries: [QUERIES[2]] })).body).toEqual({ results: [alone[2]] });
  });

  test('answers a hundred at once', async () => {
    const queries = Array.from({ length: 100 }, (_, at) => ({ id: `r${at}`, topK: 1 }));
    const { results } = (await post('queries', { queries })).body as { results: { matches: { id: string }[] }[] };
    expect(results.map(({ matches }) => matches.map(({ id }) => id))).toEqual(queries.map(({ id }) => [id]));
  });

  test('answers of many pages arrive completely, up to the maximum', async () => {
    // Each record takes more than its share of the first pages.
    const text = 'x'.repeat(1_500);
    const records = Array.from({ length: 100 }, (_, at) => ({
      id: `long-${at}`,
      values: [1, at, 5],
      metadata: { text },
    }));
    await post('upsert', { records });
    const queries = Array.from({ length: LIMITS.queriesPerRequestMax }, (_, at) => ({
      vector: [1, at, 5],
      topK: 100,
      filter: { text: { $exists: true } },
      includeMetadata: true,
    }));
    const { status, body } = await post('queries', { queries });
    expect(status).toBe(200);
    const { results } = body as { results: object[] };
    for (const at of [0, 50, queries.length - 1]) expect(results[at]).toEqual((await post('query', queries[at]!)).body);
  });
});

describe('refuses', () => {
  const path = '/collections/refused';
  beforeAll(async () => {
    await service.api('POST', '/collections', { name: 'refused', dimensions: 2 });
    await service.api('POST', `${path}/upsert`, { records: [{ id: 'a', values: [1, 2] }] });
  });

  const good = { vector: [1, 2] };
  test.each([
    ['INVALID_ARGUMENT', 'queries', {}],
    ['INVALID_ARGUMENT', 'queries', { queries: [] }],
    ['INVALID_ARGUMENT', 'queries', { queries: Array(101).fill(good) }],
    ['INVALID_ARGUMENT', 'queries', { queries: good }],
    ['INVALID_ARGUMENT', 'queries[1]', { queries: [good, null] }],
    ['INVALID_ARGUMENT', 'queries[1].vector', { queries: [good, {}] }],
    ['INVALID_ARGUMENT', 'queries[1].vector', { queries: [good, { ...good, id: 'a' }] }],
    ['INVALID_ARGUMENT', 'queries[1].vector[0]', { queries: [good, { vector: ['1', 2] }] }],
    ['INVALID_ARGUMENT', 'queries[0].topK', { queries: [{ ...good, topK: 0 }, good] }],
    ['INVALID_ARGUMENT', 'queries[1].topk', { queries: [good, { ...good, topk: 1 }] }],
    ['INVALID_ARGUMENT', 'topK', { queries: [good], topK: 1 }],
  ])('%s of %s', async (code, field, body) => {
    const answer = await service.api('POST', `${path}/queries`, body);
    expect(answer).toMatchObject({ status: 400, body: { code } });
    expect((answer.body as { details: { path: string }[] }).details.map((each) => each.path)).toContain(field);
  });

  test('a vector of another length, an invalid filter, and an absent record', async () => {
    const codeOf = async (query: object) =>
      (await service.api<{ code: string }>('POST', `${path}/queries`, { queries: [good, query] })).body.code;
    expect(await codeOf({ vector: [1] })).toBe('DIMENSION_MISMATCH');
    expect(await codeOf({ ...good, filter: { a: { $near: 1 } } })).toBe('INVALID_FILTER');
    expect(await codeOf({ id: 'b' })).toBe('RECORD_NOT_FOUND');
  });
});

test('each counts as a query of the plan; if one fails or too few are left, none counts', async () => {
  const { api } = await createTenant(await shareService('metered'), 'business', 'many');
  const used = async () => ((await api('GET', '/usage')).body as { usage: { query_count: number } }).usage.query_count;
  await api('POST', '/collections', { name: 'c', dimensions: 1 });
  await api('POST', '/collections/c/upsert', { records: [{ id: 'a', values: [1] }] });
  const queries = (count: number, last: object = { vector: [1] }) =>
    api('POST', '/collections/c/queries', { queries: [...Array(count - 1).fill({ vector: [1] }), last] });
  expect((await queries(30)).status).toBe(200);
  expect(await used()).toBe(30);
  const absent = await queries(7, { id: 'absent' });
  expect([absent.status, absent.body.error]).toEqual([404, 'There is no record with the id that queries[6].id names.']);
  expect((await queries(1, { id: 'absent' })).body.error).toContain('queries[0].id');
  expect(await used()).toBe(30);
  expect(await queries(71)).toMatchObject({ status: 429, body: { code: 'PLAN_LIMIT_REACHED' } });
  expect((await queries(METERED_LIMIT.queries - 30)).status).toBe(200);
  expect(await used()).toBe(METERED_LIMIT.queries);
  const facets = await api('POST', '/collections/c/facets', { field: 'any' });
  expect(facets).toMatchObject({ status: 429, body: { code: 'PLAN_LIMIT_REACHED' } });
});
