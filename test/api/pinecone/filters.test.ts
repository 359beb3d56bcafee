/** Filters with Pinecone's semantics below `/pinecone`; `/api/v1` keeps its own semantics. */
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
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

/** Drama, comedy, a list with drama, a list without drama, another type, and no genre. */
const METADATA: Readonly<Record<string, object>> = {
  comedy: { genre: 'comedy', year: 2020 },
  drama: { genre: 'drama', year: 2021 },
  few: { genre: ['comedy', 'war'], year: 2022 },
  many: { genre: ['drama', 'war'], year: 2023 },
  none: { year: 2024 },
  number: { genre: 7, year: '2020' },
  off: { genre: false },
};
const ALL = Object.keys(METADATA);
const WITH_GENRE = ALL.filter((id) => id !== 'none');

beforeEach(async () => {
  name = `filters-${count++}`;
  await pinecone('POST', '/indexes', { name, dimension: 1, metric: 'dotproduct' });
  const vectors = Object.entries(METADATA).map(([id, metadata]) => ({ id, values: [1], metadata }));
  expect((await index('POST', '/vectors/upsert', { vectors })).status).toBe(200);
});

const index = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
  pinecone<T>(method, `/indexes/${name}${path}`, body);
type Query = { matches: { id: string }[] };
const query = async (filter: object) =>
  (await index<Query>('POST', '/query', { topK: 9, vector: [1], filter })).body.matches.map(({ id }) => id).sort();
const left = async () =>
  (await index<{ vectors: { id: string }[] }>('GET', '/vectors/list')).body.vectors.map(({ id }) => id);

const CASES: readonly [object, readonly string[]][] = [
  [{ genre: { $ne: 'drama' } }, ['comedy', 'few', 'number', 'off']],
  [{ genre: { $ne: 7 } }, ['comedy', 'drama', 'few', 'many', 'off']],
  [{ genre: { $ne: false } }, ['comedy', 'drama', 'few', 'many', 'number']],
  [{ genre: { $nin: ['drama', 'war'] } }, ['comedy', 'number', 'off']],
  [{ genre: { $nin: [] } }, WITH_GENRE],
  [{ unknown: { $ne: 'x' } }, []],
  [{ unknown: { $nin: ['x'] } }, []],
  [{ genre: { $ne: 'drama', $nin: ['war'] } }, ['comedy', 'number', 'off']],
  [{ genre: { $exists: true, $ne: 'drama' } }, ['comedy', 'few', 'number', 'off']],
  [{ genre: { $exists: false, $ne: 'drama' } }, []],
  [{ genre: { $exists: false, $ne: 'drama', $in: ['comedy'] } }, []],
  [{ genre: { $exists: false } }, ['none']],
  [{ genre: { $exists: true } }, WITH_GENRE],
  [{ $or: [{ genre: { $ne: 'drama' } }, { year: 2023 }] }, ['comedy', 'few', 'many', 'number', 'off']],
  [{ $and: [{ genre: { $ne: 'drama' } }, { year: { $gte: 2020 } }] }, ['comedy', 'few']],
  [{ $not: { genre: { $ne: 'drama' } } }, ['drama', 'many', 'none']],
  [{ genre: { $not: { $ne: 'drama' } } }, ['drama', 'many', 'none']],
  [{ $not: { $or: [{ genre: { $nin: ['drama'] } }, { year: 2024 }] } }, ['drama', 'many']],
  // These filters mean the same in both APIs.
  [{ genre: 'drama' }, ['drama', 'many']],
  [{ genre: { $eq: 7 } }, ['number']],
  [{ genre: { $in: ['comedy', 7] } }, ['comedy', 'few', 'number']],
  [{ year: { $gt: 2020, $lte: 2022 } }, ['drama', 'few']],
  [{ year: { $lt: 2021 } }, ['comedy']],
];

test.each(CASES)('query, fetch, update and delete by %j select the same records', async (filter, expected) => {
  expect(await query(filter)).toEqual(expected);
  const fetched = await index<{ vectors: object }>('POST', '/vectors/fetch_by_metadata', { filter, limit: 100 });
  expect(Object.keys(fetched.body.vectors).sort()).toEqual(expected);
  const change = { filter, setMetadata: { marked: true } };
  for (const dryRun of [true, false])
    expect((await index('POST', '/vectors/update', { ...change, dryRun })).body).toEqual({
      matchedRecords: expected.length,
    });
  expect(await query({ marked: true })).toEqual(expected);
  expect((await index('POST', '/vectors/delete', { filter })).status).toBe(200);
  expect(await left()).toEqual(ALL.filter((id) => !expected.includes(id)).sort());
});

test('accepts what Pinecone refuses: null, ranges of strings, booleans in a list, objects', async () => {
  const vectors = Object.entries({
    dotted: { 'a.b': 1, a: { b: 2 } },
    nested: { a: { b: 2 }, genre: null },
  }).map(([id, metadata]) => ({ id, values: [1], metadata }));
  expect((await index('POST', '/vectors/upsert', { vectors, namespace: 'own' })).status).toBe(200);
  const found = async (filter: object) => {
    const body = { topK: 9, vector: [1], filter, namespace: 'own' };
    return (await index<Query>('POST', '/query', body)).body.matches.map(({ id }) => id).sort();
  };
  expect(await found({ genre: null })).toEqual(['nested']);
  expect(await found({ genre: { $exists: true } })).toEqual(['nested']);
  expect(await found({ genre: { $ne: 'drama' } })).toEqual(['nested']);
  expect(await found({ genre: { $ne: null } })).toEqual([]);
  expect(await found({ 'a.b': 2 })).toEqual(['nested']);
  expect(await found({ 'a.b': { $ne: 2 } })).toEqual(['dotted']);
  expect(await query({ genre: { $gte: 'd', $lt: 'e' } })).toEqual(['drama']);
  expect(await query({ genre: { $in: [false] } })).toEqual(['off']);
  expect(await query({ $not: { genre: 'drama' } })).toEqual(['comedy', 'few', 'none', 'number', 'off']);
});

test('on /api/v1 $ne and $nin still match records without the field', async () => {
  for (const filter of [{ genre: { $ne: 'drama' } }, { genre: { $nin: ['drama'] } }])
    expect((await service.api('POST', `/collections/${name}/count`, { filter })).body).toMatchObject({ count: 5 });
});

test('accepts as many conditions as /api/v1, and names the place that the client wrote', async () => {
  const conditions = (size: number) => ({ $and: Array.from({ length: size }, (_, n) => ({ year: { $ne: n } })) });
  expect(await query(conditions(256))).toHaveLength(6);
  const refusal = async (filter: object) => {
    const { status, body } = await index('POST', '/query', { topK: 1, vector: [1], filter });
    return [status, body.message];
  };
  expect(await refusal(conditions(257))).toEqual([400, expect.stringContaining('at most 256 conditions')]);
  expect(await refusal({ $or: [{ genre: { $ne: ['a'] } }] })).toEqual([
    400,
    expect.stringMatching(/^filter\.\$or\[0\]\.genre\.\$ne must be/),
  ]);
  expect(await refusal({ genre: { $nin: 'a' } })).toEqual([
    400,
    expect.stringMatching(/^filter\.genre\.\$nin must be a list/),
  ]);
  expect(await refusal({ $and: 'x' })).toEqual([400, expect.stringMatching(/^filter\.\$and must be a list/)]);
});
