import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LIMITS } from '../../../../lib/limits.ts';
import { nearest } from '../../../../lib/nearest.ts';
import { decodeRecords } from '../../../../lib/records/decode.ts';
import { refuseUnknownFields } from '../../../../lib/records/fields.ts';
import {
  FLOAT32_JSON_MAX_BYTES,
  float32ArrayMaxBytes,
  float32Json,
  writeFloat32Array,
} from '../../../../lib/records/float32-json.ts';
import { decodeId, decodeIds } from '../../../../lib/records/ids.ts';
import { canonicalMetadata } from '../../../../lib/records/metadata.ts';
import { decodeVector } from '../../../../lib/records/vector.ts';
import { propertyRuns } from '../../../support/effort.ts';

const decode = (records: unknown, dimensions = 2) =>
  decodeRecords(records, { dimensions, metric: 'cosine', limits: LIMITS });
const refusal = (run: () => unknown): Record<string, unknown> => {
  try {
    run();
  } catch (error) {
    return error as Record<string, unknown>;
  }
  throw new Error('nothing was refused');
};
const pathOf = (run: () => unknown) => (refusal(run).details as { path: string }[])[0]!.path;

describe('decodeRecords', () => {
  test('lays records out in order, with canonical metadata', () => {
    const batch = decode([
      { id: 'a', values: [1, 2], metadata: { z: 1, a: [null, true, 'é'] } },
      { id: 'b', values: [0.1, -0.5] },
    ]);
    expect(batch.ids).toEqual(['a', 'b']);
    expect([...batch.vectors]).toEqual([1, 2, Math.fround(0.1), -0.5]);
    expect(batch.metadata).toEqual(['{"a":[null,true,"é"],"z":1}', '{}']);
    expect(batch.vectors.buffer.byteLength).toBe(16);
  });

  test('of duplicate ids the last wins and counts once, in a buffer of the right size', () => {
    const batch = decode([
      { id: 'a', values: [1, 1], metadata: { n: 1 } },
      { id: 'b', values: [2, 2] },
      { id: 'a', values: [3, 3] },
      { id: 'c', values: [4, 4] },
    ]);
    expect(batch.ids).toEqual(['a', 'b', 'c']);
    expect([...batch.vectors]).toEqual([3, 3, 2, 2, 4, 4]);
    expect(batch.metadata).toEqual(['{}', '{}', '{}']);
    expect(batch.vectors.buffer.byteLength).toBe(24);
  });

  test.each([
    ['not an array', {}, 'records'],
    ['absent', undefined, 'records'],
    ['empty', [], 'records'],
    ['too many', Array.from({ length: 1_001 }, (_, i) => ({ id: `${i}`, values: [1, 1] })), 'records'],
    ['a record that is not an object', [[1]], 'records[0]'],
    ['an unknown field', [{ id: 'a', values: [1, 1], metdata: {} }], 'records[0].metdata'],
    ['a missing id', [{ values: [1, 1] }], 'records[0].id'],
    ['an empty id', [{ id: '', values: [1, 1] }], 'records[0].id'],
    ['a number as id', [{ id: 7, values: [1, 1] }], 'records[0].id'],
    ['an id of 513 bytes', [{ id: `${'é'.repeat(256)}a`, values: [1, 1] }], 'records[0].id'],
    ['a lone surrogate in an id', [{ id: '\ud800', values: [1, 1] }], 'records[0].id'],
    ['missing values', [{ id: 'a' }], 'records[0].values'],
    [
      'a string among values',
      [
        { id: 'a', values: [1, 1] },
        { id: 'b', values: [1, '1'] },
      ],
      'records[1].values[1]',
    ],
    ['null among values', [{ id: 'a', values: [null, 1] }], 'records[0].values[0]'],
    ['infinity', [{ id: 'a', values: [1, Number.POSITIVE_INFINITY] }], 'records[0].values[1]'],
    ['NaN', [{ id: 'a', values: [Number.NaN, 1] }], 'records[0].values[0]'],
    ['beyond float32', [{ id: 'a', values: [1e39, 1] }], 'records[0].values[0]'],
    ['below float32', [{ id: 'a', values: [1, -1e39] }], 'records[0].values[1]'],
    ['what rounds to infinity', [{ id: 'a', values: [3.4028235677973366e38, 1] }], 'records[0].values[0]'],
    ['all zero', [{ id: 'a', values: [0, -0] }], 'records[0].values'],
    ['all zero in float32', [{ id: 'a', values: [1e-60, 0] }], 'records[0].values'],
    ['metadata null', [{ id: 'a', values: [1, 1], metadata: null }], 'records[0].metadata'],
    ['metadata array', [{ id: 'a', values: [1, 1], metadata: [] }], 'records[0].metadata'],
    [
      'a lone surrogate in metadata',
      [{ id: 'a', values: [1, 1], metadata: { a: ['\udc00'] } }],
      'records[0].metadata.a[0]',
    ],
    [
      'a lone surrogate in a key',
      [{ id: 'a', values: [1, 1], metadata: { b: { '\ud800': 1 } } }],
      'records[0].metadata.b',
    ],
    [
      'infinity in metadata',
      [{ id: 'a', values: [1, 1], metadata: { a: { b: Number.POSITIVE_INFINITY } } }],
      'records[0].metadata.a.b',
    ],
  ])('%s is refused with its path', (_, records, path) => {
    const error = refusal(() => decode(records));
    expect(error.code).toBe('INVALID_ARGUMENT');
    expect((error.details as { path: string }[])[0]!.path).toBe(path);
  });

  test('another length is DIMENSION_MISMATCH', () => {
    const error = refusal(() =>
      decode([
        { id: 'a', values: [1, 1] },
        { id: 'b', values: [1] },
      ]),
    );
    expect(error.code).toBe('DIMENSION_MISMATCH');
    expect(error.details).toEqual([{ path: 'records[1].values', expected: '2 numbers', got: 'an array of 1' }]);
  });

  test('accepts the largest float32, and zero vectors under other metrics', () => {
    const records = [
      { id: 'a', values: [3.4028234663852886e38, 1e-45] },
      { id: 'b', values: [0, 0] },
    ];
    const batch = decodeRecords(records, { dimensions: 2, metric: 'euclidean', limits: LIMITS });
    expect(batch.vectors[0]).toBe(3.4028234663852886e38);
    expect(batch.vectors[1]).toBe(1.401298464324817e-45);
  });

  test('ids are values: names of object members, paths and any Unicode are ordinary ids', () => {
    const ids = ['__proto__', 'constructor', '../x', '/', 'a\u0000', '👩‍🚀', 'a"b\\', ' ', 'a'.repeat(512)];
    const batch = decode(ids.map((id) => ({ id, values: [1, 1] })));
    expect(batch.ids).toEqual(ids);
  });
});

describe('metadata', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });

  test('accepts 32 levels, not 33; lists count', () => {
    expect(canonicalMetadata(nested(32), 'm', LIMITS)).toContain('1');
    expect(pathOf(() => canonicalMetadata(nested(33), 'm', LIMITS))).toBe('m');
    const list = JSON.parse(`{"a":${'['.repeat(32)}${']'.repeat(32)}}`);
    expect(pathOf(() => canonicalMetadata(list, 'm', LIMITS))).toBe('m');
  });

  test('accepts 40 KiB of compact JSON and not a byte more; bytes count, not characters', () => {
    const frame = Buffer.byteLength('{"t":""}');
    const text = 'x'.repeat(LIMITS.metadataMaxBytes - frame);
    expect(canonicalMetadata({ t: text }, 'm', LIMITS)).toHaveLength(LIMITS.metadataMaxBytes);
    expect(pathOf(() => canonicalMetadata({ t: `${text}x` }, 'm', LIMITS))).toBe('m');
    expect(pathOf(() => canonicalMetadata({ t: `${text.slice(1)}é` }, 'm', LIMITS))).toBe('m');
  });

  test('equals what was sent, and is the same text for any order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 3 })), (metadata) => {
        const sent = JSON.parse(JSON.stringify(metadata));
        const text = canonicalMetadata(sent, 'm', LIMITS);
        expect(JSON.parse(text)).toEqual(sent);
        const reversed = Object.fromEntries(Object.entries(sent).reverse());
        expect(canonicalMetadata(reversed, 'm', LIMITS)).toBe(text);
      }),
    );
  });
});

describe('ids and vectors', () => {
  test('ids without duplicates, in order', () => {
    expect(decodeIds(['b', 'a', 'b'], 'ids', LIMITS)).toEqual(['b', 'a']);
    expect(pathOf(() => decodeIds(['a', 7], 'ids', LIMITS))).toBe('ids[1]');
    expect(pathOf(() => decodeIds([], 'ids', LIMITS))).toBe('ids');
    expect(pathOf(() => decodeIds(new Array(1_001).fill('a'), 'ids', LIMITS))).toBe('ids');
    expect(decodeId('a'.repeat(512), 'id', LIMITS)).toHaveLength(512);
  });

  test("a query vector is checked like a record's", () => {
    expect([...decodeVector([1, 0], 'vector', 2, 'dot')]).toEqual([1, 0]);
    expect([...decodeVector(new Float32Array([1, 0]), 'vector', 2, 'cosine')]).toEqual([1, 0]);
    expect(refusal(() => decodeVector([1], 'vector', 2, 'dot')).code).toBe('DIMENSION_MISMATCH');
    expect(pathOf(() => decodeVector('1,2', 'vector', 2, 'dot'))).toBe('vector');
  });
});

describe('float32 as JSON', () => {
  test.each([
    [0.1, '0.1'],
    [-0.1, '-0.1'],
    [0, '0'],
    [-0, '0'],
    [1, '1'],
    [16_777_216, '16777216'],
    [1e20, '100000000000000000000'],
    [1e21, '1e+21'],
    [3.4028234663852886e38, '3.4028235e+38'],
    [1.401298464324817e-45, '1e-45'],
    [1.17549435e-38, '1.1754944e-38'],
    [0.3333333333333333, '0.33333334'],
    [123456.789, '123456.79'],
  ])('prints %p as %s', (number, text) => {
    expect(float32Json(Math.fround(number))).toBe(text);
  });

  test('reads back as the same float32, in at most 9 digits', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (number) => {
        const text = float32Json(number);
        expect(Math.fround(JSON.parse(text))).toBe(number === 0 ? 0 : number);
        expect(Number(text)).toBe(Number(Number(text).toPrecision(9)));
      }),
      { numRuns: propertyRuns(5_000) },
    );
  });

  test('no decimal with fewer digits reads back as the same', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (number) => {
        const digits = [1, 2, 3, 4, 5, 6, 7, 8, 9].find((n) => Math.fround(Number(number.toPrecision(n))) === number)!;
        const printed = Number(float32Json(number));
        expect(printed).toBe(Number(printed.toPrecision(digits)));
      }),
      { numRuns: propertyRuns(5_000) },
    );
  });

  test('returns what a client sent with up to 6 digits as sent', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -999_999, max: 999_999 }),
        fc.integer({ min: -20, max: 20 }),
        (digits, exponent) => {
          const sent = Number(`${digits}e${exponent}`);
          expect(JSON.parse(float32Json(Math.fround(sent)))).toBe(sent === 0 ? 0 : sent);
        },
      ),
      { numRuns: propertyRuns(5_000) },
    );
  });

  function arrayJson(...numbers: number[]): string {
    const target = Buffer.alloc(3 + float32ArrayMaxBytes(numbers.length), 'x');
    const end = writeFloat32Array(target, 3, Float32Array.from(numbers));
    expect(target.subarray(0, 3).toString()).toBe('xxx');
    return target.toString('latin1', 3, end);
  }

  test('arrays are written as their numbers are printed', () => {
    expect(arrayJson(0.1, 2, -3.5)).toBe('[0.1,2,-3.5]');
    expect(arrayJson()).toBe('[]');
    expect(arrayJson(-0, 1e-6, -9.999999e-7, 0.0099999998, 9_999_999, 1e7, -0.5)).toBe(
      '[0,0.000001,-9.999999e-7,0.01,9999999,10000000,-0.5]',
    );
    const magnitudes = fc.tuple(fc.double({ min: -1, max: 1, noNaN: true }), fc.integer({ min: -9, max: 9 }));
    const numbers = fc.oneof(
      fc.float({ noNaN: true, noDefaultInfinity: true }),
      magnitudes.map(([number, exponent]) => Math.fround(number * 10 ** exponent)),
    );
    fc.assert(
      fc.property(fc.array(numbers), (list) => {
        expect(arrayJson(...list)).toBe(`[${list.map(float32Json).join()}]`);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test('no number is longer than the stated maximum, or invalid in JSON', () => {
    expect(arrayJson(-3.4e20)).toHaveLength(2 + FLOAT32_JSON_MAX_BYTES);
    expect(() => float32Json(Number.NaN)).toThrow(RangeError);
    expect(() => arrayJson(Number.POSITIVE_INFINITY)).toThrow(RangeError);
  });
});

describe('unknown fields', () => {
  test('are named with the nearest known one', () => {
    const known = ['vector', 'topK', 'filter', 'includeValues'];
    expect(nearest('top_k', known)).toBe('topK');
    expect(nearest('fliter', known)).toBe('filter');
    expect(nearest('include_values', known)).toBe('includeValues');
    expect(nearest('ids', ['id'])).toBe('id');
    expect(nearest('id', ['ids'])).toBe('ids');
    for (const other of ['namespace', 'limit', 'x', '', 'k', '$near', 'sparse_vector']) {
      expect([other, nearest(other, known)]).toEqual([other, null]);
    }
    expect(refusal(() => refuseUnknownFields({ namespace: 1 }, known)).message).toBe(
      'namespace is not a field of this operation; known: vector, topK, filter, includeValues.',
    );
    const error = refusal(() => refuseUnknownFields({ vector: [], filtre: {} }, known));
    expect(error.message).toContain('filtre is not a field of this operation; did you mean filter?');
    expect(refusal(() => refuseUnknownFields({ constructor: 1 }, known)).code).toBe('INVALID_ARGUMENT');
    expect(refusal(() => refuseUnknownFields(JSON.parse('{"__proto__":1}'), known)).code).toBe('INVALID_ARGUMENT');
  });
});
