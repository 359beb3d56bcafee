import { beforeAll, describe, expect, test } from '@jest/globals';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

interface Match {
  id: string;
  score: number;
  metadata?: object;
  values?: number[];
}

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

/** Points on a quarter circle: the higher `at`, the farther from [1, 0]. */
const RECORDS = Array.from({ length: 40 }, (_, at) => ({
  id: `r${String(at).padStart(2, '0')}`,
  values: [Math.fround(Math.cos(at / 40)), Math.fround(Math.sin(at / 40))],
  metadata: { at, even: at % 2 === 0 },
}));
const IDS = RECORDS.map(({ id }) => id);
const EAST = [1, 0];

describe.each([1, 8])('over %i shards', (shards) => {
  const path = `/collections/query-${shards}`;
  const query = async (body: object) => service.api<{ matches: Match[] }>('POST', `${path}/query`, body);
  const idsOf = async (body: object) => (await query(body)).body.matches.map(({ id }) => id);

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `query-${shards}`, dimensions: 2, shards });
    await service.api('POST', `${path}/upsert`, { records: RECORDS });
  });

  test('returns the best 10 by default, best first, with metadata and without values', async () => {
    const { status, body } = await query({ vector: EAST });
    const scores = RECORDS.slice(0, 10).map(({ values }) => values[0] / Math.hypot(values[0], values[1]));
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        matches: RECORDS.slice(0, 10).map(({ id, metadata }, at) => ({
          id,
          score: expect.closeTo(scores[at], 12),
          metadata,
        })),
      },
    });
  });

  test('accepts topK from 1 to 10,000, and returns at most what there is', async () => {
    expect(await idsOf({ vector: EAST, topK: 1 })).toEqual(['r00']);
    expect(await idsOf({ vector: EAST, topK: 13 })).toEqual(IDS.slice(0, 13));
    expect(await idsOf({ vector: EAST, topK: 10_000 })).toEqual(IDS);
  });

  test('respects includeValues and includeMetadata', async () => {
    const [{ id, values, metadata }] = RECORDS;
    const one = { vector: EAST, topK: 1 };
    const ask = async (flags: object) => (await query({ ...one, ...flags })).body.matches;
    expect(await ask({ includeValues: true })).toEqual([{ id, score: 1, metadata, values }]);
    expect(await ask({ includeMetadata: false })).toEqual([{ id, score: 1 }]);
    expect(await ask({ includeValues: true, includeMetadata: false })).toEqual([{ id, score: 1, values }]);
    expect(await ask({ includeValues: false, includeMetadata: true })).toEqual([{ id, score: 1, metadata }]);
  });

  test('queries by the id of a record', async () => {
    const byId = await query({ id: 'r20', topK: 40, includeValues: true });
    const byVector = await query({ vector: RECORDS[20].values, topK: 40, includeValues: true });
    expect(byId.body.matches[0]).toMatchObject({ id: 'r20', score: expect.closeTo(1, 12) });
    expect(byId.body).toEqual(byVector.body);
  });

  test('scoreThreshold leaves out lower scores', async () => {
    const { matches } = (await query({ vector: EAST, topK: 40 })).body;
    const scoreThreshold = matches[7].score;
    expect(await idsOf({ vector: EAST, topK: 40, scoreThreshold })).toEqual(IDS.slice(0, 8));
    expect(await idsOf({ vector: EAST, topK: 3, scoreThreshold })).toEqual(IDS.slice(0, 3));
    expect(await idsOf({ vector: EAST, scoreThreshold: 1.1 })).toEqual([]);
    expect(await idsOf({ vector: EAST, topK: 40, scoreThreshold: -1 })).toEqual(IDS);
  });

  test('exact returns the same', async () => {
    const request = { vector: [0.3, 0.7], topK: 40 };
    expect((await query({ ...request, exact: true })).body).toEqual((await query({ ...request, exact: false })).body);
  });

  test('sees a write as soon as it is acknowledged, including replaced and deleted vectors', async () => {
    const found = { vector: [-1, 0], topK: 1 };
    await service.api('POST', `${path}/upsert`, { records: [{ id: 'west', values: [-1, 0] }] });
    expect(await idsOf(found)).toEqual(['west']);
    await service.api('POST', `${path}/upsert`, { records: [{ id: 'west', values: [1, 0] }] });
    expect(await idsOf(found)).toEqual(['r39']);
    await service.api('POST', `${path}/delete`, { ids: ['west'] });
    expect(await idsOf({ vector: EAST, topK: 2 })).toEqual(['r00', 'r01']);
  });

  test('orders ties by id, in the order of UTF-8 bytes', async () => {
    const name = `ties-${shards}`;
    await service.api('POST', '/collections', { name, dimensions: 2, shards });
    const ids = ['b', 'a', 'é', 'B', '10', '9', 'ab', '\uff5e', '🧭', ''.padEnd(9, 'a')];
    await service.api('POST', `/collections/${name}/upsert`, { records: ids.map((id) => ({ id, values: [3, 4] })) });
    const ask = async (topK: number) =>
      (
        await service.api<{ matches: Match[] }>('POST', `/collections/${name}/query`, { vector: [3, 4], topK })
      ).body.matches.map(({ id }) => id);
    const sorted = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(await ask(10)).toEqual(sorted);
    for (const topK of [4, 9]) expect(await ask(topK)).toEqual(sorted.slice(0, topK));
  });

  test.each<[string, object, string]>([
    ['neither vector nor id', {}, 'vector'],
    ['both vector and id', { vector: EAST, id: 'r00' }, 'vector'],
    ['topK 0', { vector: EAST, topK: 0 }, 'topK'],
    ['topK 10,001', { vector: EAST, topK: 10_001 }, 'topK'],
    ['topK 1.5', { vector: EAST, topK: 1.5 }, 'topK'],
    ['topK as text', { vector: EAST, topK: '3' }, 'topK'],
    ['topK null', { vector: EAST, topK: null }, 'topK'],
    ['text in the vector', { vector: [1, '0'] }, 'vector[1]'],
    ['null in the vector', { vector: [null, 1] }, 'vector[0]'],
    ['a number above float32', { vector: [1, 1e39] }, 'vector[1]'],
    ['no direction for cosine', { vector: [0, 0] }, 'vector'],
    ['vector null', { vector: null }, 'vector'],
    ['a vector that is not a list', { vector: 'x' }, 'vector'],
    ['an empty id', { id: '' }, 'id'],
    ['includeValues as text', { vector: EAST, includeValues: 'true' }, 'includeValues'],
    ['includeMetadata 1', { vector: EAST, includeMetadata: 1 }, 'includeMetadata'],
    ['exact null', { vector: EAST, exact: null }, 'exact'],
    ['scoreThreshold as text', { vector: EAST, scoreThreshold: '0.5' }, 'scoreThreshold'],
    ['a misspelt filter', { vector: EAST, filtre: {} }, 'filtre'],
  ])('refuses %s', async (_, body, path) => {
    expect(await query(body)).toEqual(refusalOf(path));
  });

  test('refuses a vector of another length and an absent id', async () => {
    expect(await query({ vector: [1, 2, 3] })).toEqual(
      refusal(400, 'DIMENSION_MISMATCH', {
        details: [{ path: 'vector', expected: '2 numbers', got: 'an array of 3' }],
      }),
    );
    expect(await query({ id: 'absent' })).toEqual(refusal(404, 'RECORD_NOT_FOUND'));
  });
});

test('returns 404 for an unknown collection and no matches for an empty one', async () => {
  expect(await service.api('POST', '/collections/never/query', { vector: [1] })).toEqual(
    refusal(404, 'COLLECTION_NOT_FOUND'),
  );
  await service.api('POST', '/collections', { name: 'empty', dimensions: 1 });
  expect((await service.api('POST', '/collections/empty/query', { vector: [1] })).body).toEqual({ matches: [] });
});
