import { beforeAll, describe, expect, test } from '@jest/globals';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const FLOAT32_MAX = 3.4028234663852886e38;

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
  for (const metric of ['cosine', 'dot', 'euclidean']) {
    await service.api('POST', '/collections', { name: metric, dimensions: 2, metric });
  }
});

const upsert = (records: unknown, name = 'cosine') =>
  service.api('POST', `/collections/${name}/upsert`, { records } as object);
const fetched = async (id: string, name = 'cosine') =>
  (await service.api<{ vectors: Record<string, unknown> }>('POST', `/collections/${name}/fetch`, { ids: [id] })).body
    .vectors[id];
const nested = (levels: number): Record<string, unknown> => (levels === 1 ? {} : { in: nested(levels - 1) });
/** Returns metadata whose compact JSON has exactly `bytes` bytes. */
const metadataOf = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) });

describe('ids', () => {
  test.each([
    ['a'],
    ['../../etc/passwd'],
    ['a/b?c#d&e=f%20'],
    [' '],
    ['.'],
    ['\u0001\u0000'],
    ['line\nbreak "quoted" \\'],
    ['__proto__'],
    ['constructor'],
    ['toString'],
    ['🧭👩‍👩‍👧'],
    ['é'],
    ['e\u0301'],
    ['$where'],
    ['x'.repeat(512)],
    ['🧭'.repeat(128)],
  ])('%j is an ordinary id', async (id) => {
    const record = { id, values: [1, 2], metadata: { of: id } };
    expect(await upsert([record])).toMatchObject({ status: 200, body: { upsertedCount: 1 } });
    expect(await fetched(id)).toEqual(record);
  });

  test.each<[string, unknown]>([
    ['empty', ''],
    ['513 bytes', 'x'.repeat(513)],
    ['129 four-byte characters', '🧭'.repeat(129)],
    ['a number', 7],
    ['null', null],
    ['missing', undefined],
    ['a lone surrogate', '\ud83e'],
  ])('%s is refused', async (_, id) => {
    expect(
      await upsert([
        { id: 'fine', values: [1, 2] },
        { id, values: [1, 2] },
      ]),
    ).toEqual(refusalOf('records[1].id'));
  });
});

describe('values', () => {
  test('are stored as float32, and returned as stored', async () => {
    const values = [0.1, 1 / 3];
    await upsert([{ id: 'float32', values }]);
    const { values: stored } = (await fetched('float32')) as { values: number[] };
    expect(stored.map(Math.fround)).toEqual(values.map(Math.fround));
    expect(stored[0]).toBe(0.1);
  });

  test.each([
    ['the largest float32', 'dot', [FLOAT32_MAX, -FLOAT32_MAX]],
    ['the smallest float32', 'dot', [2 ** -149, -(2 ** -149)]],
    ['all zero without cosine', 'euclidean', [0, 0]],
    ['all zero for dot', 'dot', [0, 0]],
  ])('%s is accepted', async (id, name, values) => {
    expect(await upsert([{ id, values }], name)).toMatchObject({ status: 200 });
    const { values: stored } = (await fetched(id, name)) as { values: number[] };
    expect(stored.map(Math.fround)).toEqual(values);
  });

  test.each<[string, unknown, string]>([
    ['above float32', [1, 3.5e38], 'records[0].values[1]'],
    ['text', ['1', 2], 'records[0].values[0]'],
    ['null', [1, null], 'records[0].values[1]'],
    ['a list in the list', [1, [2]], 'records[0].values[1]'],
    ['not a list', { 0: 1, 1: 2 }, 'records[0].values'],
    ['missing', undefined, 'records[0].values'],
    ['all zero for cosine', [0, 0], 'records[0].values'],
    ['zero in float32 for cosine', [1e-50, 0], 'records[0].values'],
  ])('%s is refused', async (_, values, path) => {
    expect(await upsert([{ id: 'a', values }])).toEqual(refusalOf(path));
  });

  test.each([[[]], [[1]], [[1, 2, 3]]])('%j has another length', async (values) => {
    expect(await upsert([{ id: 'a', values }])).toEqual(
      refusal(400, 'DIMENSION_MISMATCH', {
        details: [
          {
            path: 'records[0].values',
            expected: '2 numbers',
            got: values.length === 0 ? 'an empty array' : `an array of ${values.length}`,
          },
        ],
      }),
    );
  });
});

describe('metadata', () => {
  test.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['every kind of value', { s: 'x', n: -1.5e-7, t: true, f: false, z: null, l: [1, 'a', null, [{}]], o: { p: {} } }],
    ['keys in any order', { z: 1, a: 2, 10: 3, 9: 4, é: 5, '': 6 }],
    ['names of operators and prototypes', { $eq: 1, constructor: { name: 'x' }, toString: 'y', 'a.b': 1 }],
    ['doubles to the last digit', { pi: Math.PI, max: Number.MAX_VALUE, min: 5e-324, big: 2 ** 53 + 2 }],
    ['any text', { 'кл\u0000юч"\\': '\u2028🧭\ud83e\udded\u007f' }],
    ['40 KiB', metadataOf(40 * 1024)],
    ['32 levels', nested(32)],
  ])('%s is returned equal', async (_, metadata) => {
    const record = { id: 'metadata', values: [1, 2], metadata };
    expect(await upsert([record])).toMatchObject({ status: 200 });
    expect(await fetched('metadata')).toEqual(record);
    const { body } = await service.api('POST', '/collections/cosine/query', { id: 'metadata', topK: 100 });
    expect(body.matches).toContainEqual({ id: 'metadata', score: expect.closeTo(1, 6), metadata });
  });

  test.each<[string, unknown, string]>([
    ['a byte over 40 KiB', metadataOf(40 * 1024 + 1), 'records[0].metadata'],
    ['33 levels', nested(33), 'records[0].metadata'],
    ['33 levels of lists', { in: JSON.parse('['.repeat(32) + ']'.repeat(32)) }, 'records[0].metadata'],
    ['a list', [], 'records[0].metadata'],
    ['text', 'text', 'records[0].metadata'],
    ['null', null, 'records[0].metadata'],
    ['a lone surrogate', { a: { b: ['\ud83e'] } }, 'records[0].metadata.a.b[0]'],
  ])('%s is refused', async (_, metadata, path) => {
    expect(await upsert([{ id: 'a', values: [1, 2], metadata }])).toEqual(refusalOf(path));
  });
});

describe('records', () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `n${at}`, values: [1, at] }));

  test('1,000 in one request', async () => {
    expect(await upsert(numbered(1_000), 'dot')).toMatchObject({ status: 200, body: { upsertedCount: 1_000 } });
  });

  test.each<[string, unknown]>([
    ['1,001', numbered(1_001)],
    ['1,001 with many duplicates', Array(1_001).fill({ id: 'same', values: [1, 2] })],
    ['none', []],
    ['missing', undefined],
    ['an object', { id: 'a', values: [1, 2] }],
  ])('%s is refused', async (_, records) => {
    expect(await upsert(records)).toEqual(refusalOf('records'));
  });

  test.each<[string, unknown, string]>([
    ['null', null, 'records[0]'],
    ['a list', [1, 2], 'records[0]'],
    ['a field that is not known', { id: 'a', values: [1, 2], metdata: {} }, 'records[0].metdata'],
    ['a vector under another name', { id: 'a', vector: [1, 2] }, 'records[0].vector'],
  ])('one that is %s is refused', async (_, record, path) => {
    expect(await upsert([record])).toEqual(refusalOf(path));
  });
});
