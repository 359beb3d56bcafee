import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { float32Scanner } from '../../../../../lib/records/kernel/float32-scanner.ts';
import {
  ANY_INDEX,
  type ExtractedText,
  extractVectors,
  type VectorPlace,
} from '../../../../../services/gateway/bodies/extracted-vectors.ts';
import { parseJsonBody } from '../../../../../services/gateway/bodies/json-body.ts';
import { isThorough } from '../../../../support/effort.ts';

const BOUNDS = { levelsMax: 8, keysMax: 50, nameMaxBytes: 40 };
const PLACES = {
  query: { path: ['vector'], countMax: 1, dimensions: 3 },
  records: { path: ['records', ANY_INDEX, 'values'], countMax: 3, dimensions: 3 },
} as const satisfies Record<string, VectorPlace>;

/** The decoded body with vectors as plain float32 arrays, or the message of the refusal. */
function outcome(text: string, place: VectorPlace | null): unknown {
  try {
    return plain(parseJsonBody(Buffer.from(text), BOUNDS, place));
  } catch (error) {
    return (error as Error).message;
  }
}

/** Converts Float32Arrays to arrays, and rounds every array that could be a vector likewise. */
function plain(value: unknown): unknown {
  if (value instanceof Float32Array) return [...value];
  if (Array.isArray(value)) {
    const isVector = value.length === 3 && value.every((each) => typeof each === 'number');
    return isVector ? value.map(Math.fround) : value.map(plain);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 }), fc.integer());
const vector = fc.array(number, { minLength: 2, maxLength: 4 });
const key = fc.constantFrom('vector', 'values', 'records', 'metadata', 'id', 'a"b', 'a\\', '[', '{');
const { body } = fc.letrec<{ body: unknown; any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(fc.string(), fc.constantFrom('[1,2,3]', '"', '\\', null, true), number),
    vector,
    fc.array(tie('any'), { maxLength: 3 }),
    tie('body'),
  ),
  body: fc.dictionary(key, tie('any'), { maxKeys: 3 }),
}));
const records = fc
  .array(fc.record({ id: fc.string(), values: fc.oneof(vector, fc.string()), metadata: body }, { requiredKeys: [] }))
  .map((each) => ({ records: each }));
const query = fc.record(
  { vector: fc.oneof(vector, fc.constant(null)), topK: number, filter: body },
  { requiredKeys: [] },
);
const text = fc
  .tuple(fc.oneof(body, records, query), fc.constantFrom(0, 1))
  .map(([value, blanks]) => JSON.stringify(value, null, blanks));
/** The text unchanged, or with one character removed or doubled. */
const written = fc
  .tuple(text, fc.constantFrom('whole', 'whole', 'without', 'twice'), fc.nat())
  .map(([whole, change, at]) => {
    const place = at % whole.length;
    if (change === 'whole') return whole;
    return whole.slice(0, place) + (change === 'twice' ? whole[place]!.repeat(2) : '') + whole.slice(place + 1);
  });

function lift(value: string, place: VectorPlace): ExtractedText {
  const lifted = extractVectors(Buffer.from(value), BOUNDS, place);
  if (typeof lifted === 'string') throw new Error(`refused for ${lifted}`);
  return lifted;
}

describe('vectors extracted before the text is parsed', () => {
  test('change neither the meaning of a body nor its refusal', () => {
    fc.assert(
      fc.property(written, fc.constantFrom('query', 'records'), (value, kind) => {
        expect(outcome(value, PLACES[kind])).toEqual(outcome(value, null));
      }),
      { numRuns: isThorough ? 50_000 : 1_500 },
    );
  });

  test('are only those of the kind of body', () => {
    const vectors = '{"vector":[1,2,3],"filter":{"x":{"vector":[1,2,3],"values":[1,2,3]}},"values":[1,2,3]}';
    expect(lift(vectors, PLACES.query).vectors.length).toBe(1);
    const rows =
      '{"values":[1,2,3],"records":[{"values":[1,2,3],"metadata":{"values":[1,2,3]}},{"values" : [ 4,5 , 6 ]}]}';
    const { text: rest, vectors: taken } = lift(rows, PLACES.records);
    expect(taken).toEqual([Float32Array.of(1, 2, 3), Float32Array.of(4, 5, 6)]);
    expect(JSON.parse(rest)).toMatchObject({ values: [1, 2, 3], records: [{ metadata: { values: [1, 2, 3] } }, {}] });
  });

  test('stay in the text if there are more or fewer numbers, or none', () => {
    for (const values of ['[1,2]', '[1,2,3,4]', '[]', '[1,2,null]', '[1,2,1e39]', '"[1,2,3]"', '{"0":1}'])
      expect(lift(`{"vector":${values}}`, PLACES.query)).toMatchObject({ text: `{"vector":${values}}`, vectors: [] });
  });

  test('stay in the text beyond the maximum number', () => {
    const one = '{"values":[1,2,3]}';
    const { text: rest, vectors: taken } = lift(`{"records":[${one},${one},${one},${one}]}`, PLACES.records);
    expect(taken.length).toBe(3);
    expect(rest.endsWith(`,${one}]}`)).toBe(true);
  });

  test('are not searched for endlessly if there are none', () => {
    const scan = jest.spyOn(float32Scanner, 'scan');
    const wide = { ...PLACES.records, dimensions: 8_192 };
    const flat = `{"records":[${'{"values":[1,2,3,"4"]},'.repeat(10_000)}{}]}`;
    expect(lift(flat, wide).text).toBe(flat);
    expect(scan.mock.calls.length).toBeLessThan(10);
    scan.mockRestore();
  });

  test('a placeholder that a client writes has no meaning', () => {
    const { text: rest } = lift('{"vector":[1,2,3]}', PLACES.query);
    const mark = (JSON.parse(rest) as { vector: string }).vector;
    const asked = (value: string) =>
      parseJsonBody(Buffer.from(`{"vector":${JSON.stringify(value)}}`), BOUNDS, PLACES.query);
    expect(asked(mark)).toEqual({ vector: mark });
    const records = { records: [{ values: [7, 8, 9] }, { values: mark }, { values: `${mark}1` }] };
    expect(outcome(JSON.stringify(records), PLACES.records)).toEqual(records);
  });

  test('the place of a syntax error is the one in the original text', () => {
    expect(outcome('{"vector":[1,2,3],}', PLACES.query)).toContain('column 19');
  });
});

describe('a duplicate member of an object is refused by its path', () => {
  const refusal = (path: string) =>
    `The body has ${path} twice; give each member of an object once, since JSON parsers differ in which one they keep.`;

  test.each([
    ['{"a":1,"b":2,"a":1}', 'a'],
    ['{"vector":[1,2,3],"vector":[1,2,3]}', 'vector'],
    ['{"vector":[1,2,3],"filter":{"year":{"$gte":1},"x":1,"year":{"$lt":2}}}', 'filter.year'],
    ['{"vector":[1,2,3],"filter":{"$or":[{"a":1},{"b":1,"b":1}]}}', 'filter.$or[1].b'],
    ['{"filter":{"a\\"b":1,"a\\u0022b":2}}', 'filter.a"b'],
    ['{"filter":{"":1,"":2}}', 'filter.""'],
    ['{"filter":{"12":1,"12":2}}', 'filter.12'],
  ])('%s', (body, path) => {
    expect(outcome(body, PLACES.query)).toBe(refusal(path));
    expect(outcome(body, null)).toBe(refusal(path));
  });

  test('but the same name in other objects or in a string is not', () => {
    const body = '{"vector":[1,2,3],"filter":{"$or":[{"a":1},{"a":"\\"a\\":1,\\"a\\":1"}],"vector":{"a":1}}}';
    expect(outcome(body, PLACES.query)).toEqual(JSON.parse(body));
  });

  test('and, in text that takes the scanner too long, without its path', () => {
    expect(outcome(`{"a":1,"a":${' '.repeat(100_001)}1}`, null)).toBe(
      'The body has a member twice in one object; give each member of an object once, since JSON parsers differ in which one they keep.',
    );
  });
});

describe('an object with too many keys is refused before it is parsed', () => {
  const objectOf = (keys: number) => `{${Array.from({ length: keys }, (_, at) => `"k${at}:":[{"a":":"}]`).join(',')}}`;
  const REFUSED = 'body must be JSON with at most 50 keys in each object, but is JSON with an object that has more.';

  test.each([
    ['the body itself', objectOf],
    ['one in a record', (keys: number) => `{"records":[{"values":[1,2,3],"metadata":{"of":${objectOf(keys)}}}]}`],
    ['one after others', (keys: number) => `{"records":[{"a":${objectOf(50)}},{"b":${objectOf(keys)}}]}`],
  ])('%s', (_, body) => {
    expect(outcome(body(50), PLACES.records)).toEqual(JSON.parse(body(50)));
    expect(outcome(body(51), PLACES.records)).toBe(REFUSED);
    expect(outcome(body(51).slice(0, -1), PLACES.records)).toBe(REFUSED);
  });
});

describe('a name with too many bytes is refused before it is parsed', () => {
  const long = 'n'.repeat(41);
  const escaped = (bytes: number) => '\\u006e'.repeat(bytes);
  const refusal = (path: string) => `${path} must be named in at most 40 bytes, but is named in more.`;

  test.each([
    [`{"${long}":1}`, long],
    [`{"${long}" \n:1}`, long],
    [`{"é${'n'.repeat(39)}":1}`, `é${'n'.repeat(39)}`],
    [`{"filter":{"$or":[{"a":1},{"${long}":1}]}}`, `filter.$or[1].${long}`],
    [`{"records":[{"values":[1,2,3],"metadata":{"a":{"${long}":1}}}]}`, `records[0].metadata.a.${long}`],
    [`{"a":{"${escaped(41)}":1}}`, `a.${long}`],
    [`{"${'n'.repeat(70)}":1}`, `${'n'.repeat(64)}...`],
    [`{"${long}":`, long],
  ])('%s', (body, path) => {
    expect(outcome(body, PLACES.records)).toBe(refusal(path));
    expect(outcome(body, null)).toBe(refusal(path));
  });

  test.each([
    [`{"${'n'.repeat(40)}":1}`],
    [`{"${escaped(40)}":1}`],
    [`{"a":"${long}","b":["${long}"]}`],
    [`{"a":"${long}\\":"}`],
  ])('but %s is not', (body) => {
    expect(outcome(body, null)).toEqual(JSON.parse(body));
  });

  test('and text that is no JSON is refused as that', () => {
    expect(outcome(`{"${long}\\x":1}`, null)).toContain('not valid JSON');
    expect(outcome(`{"a":1,"${long}`, null)).toContain('not valid JSON');
  });
});
