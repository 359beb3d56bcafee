import { beforeAll, describe, expect, test } from '@jest/globals';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const WEIRD = ['__proto__', 'constructor', 'hasOwnProperty', 'a/b', '..', '🧭', ' ', '"', '10', '9', 'line\n'];

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each([1, 8])('over %i shards', (shards) => {
  const path = `/collections/fetch-${shards}`;
  const fetchRecords = (ids: unknown) => service.api<{ vectors: object }>('POST', `${path}/fetch`, { ids });
  const records = [...WEIRD, ...Array.from({ length: 989 }, (_, at) => `n${at}`)].map((id, at) => ({
    id,
    values: [at, -1 - at, 0.5],
    metadata: { of: id },
  }));

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `fetch-${shards}`, dimensions: 3, shards, metric: 'dot' });
    await service.api('POST', `${path}/upsert`, { records });
  });

  /** Compares entries, because an object literal would lose `__proto__`. */
  const vectorsOf = (body: { vectors: object }) => Object.entries(body.vectors).sort();

  test('returns each record under its id, for any id', async () => {
    const { status, body } = await fetchRecords(WEIRD);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['vectors']);
    const expected = records.slice(0, WEIRD.length).map((record) => [record.id, record]);
    expect(vectorsOf(body)).toEqual(expected.sort());
  });

  test('leaves out absent records, and returns duplicates once', async () => {
    expect((await fetchRecords(['absent', 'toString', 'n1', 'valueOf', 'n1'])).body).toEqual({
      vectors: { n1: records[WEIRD.length + 1] },
    });
    expect((await fetchRecords(['absent'])).body).toEqual({ vectors: {} });
  });

  test('returns 1,000 records at once', async () => {
    const { body } = await fetchRecords(records.map(({ id }) => id));
    expect(vectorsOf(body)).toEqual(records.map((record) => [record.id, record]).sort());
  });

  test('does not return deleted records', async () => {
    await service.api('POST', `${path}/delete`, { ids: ['n2'] });
    expect((await fetchRecords(['n2', 'n3'])).body).toEqual({ vectors: { n3: records[WEIRD.length + 3] } });
  });

  test.each<[string, unknown, string]>([
    ['no ids', undefined, 'ids'],
    ['none', [], 'ids'],
    ['1,001', Array.from({ length: 1_001 }, (_, at) => `n${at}`), 'ids'],
    ['text', 'n1', 'ids'],
    ['an object', { 0: 'n1' }, 'ids'],
    ['a number in it', ['n1', 2], 'ids[1]'],
    ['an empty one', ['n1', 'n2', ''], 'ids[2]'],
    ['513 bytes', ['x'.repeat(513)], 'ids[0]'],
    ['a lone surrogate', ['\ud83e'], 'ids[0]'],
  ])('refuses %s, as delete does', async (_, ids, at) => {
    expect(await fetchRecords(ids)).toEqual(refusalOf(at));
    expect(await service.api('POST', `${path}/delete`, { ids })).toEqual(refusalOf(at));
  });
});

test('returns 404 for an unknown collection', async () => {
  expect(await service.api('POST', '/collections/never/fetch', { ids: ['a'] })).toEqual(
    refusal(404, 'COLLECTION_NOT_FOUND'),
  );
});
