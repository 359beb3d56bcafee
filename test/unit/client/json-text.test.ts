import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from '../../../client/verify/json-text.ts';
import { propertyRuns } from '../../support/effort.ts';
import { seed } from '../../support/seed.ts';

/** Strings of characters that occur in escapes, because V8 confuses such strings. */
const letter = fc.constantFrom('\\', '"', '\n', '\u0001', 'a', 'u', 'é', '\ue000', '\ud83d', '😀', '0', '_');
const name = fc.oneof(fc.string({ unit: letter, maxLength: 3 }), fc.constantFrom('__proto__', '"'));

/** A JSON text and its value. Objects are maps, so that `__proto__` compares like any other key. */
interface Sample {
  text: string;
  value: unknown;
}

const unicodeEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One of the ways to write a string. */
const written = (text: string, isEscaped: boolean): string =>
  isEscaped ? `"${text.split('').map(unicodeEscape).join('')}"` : JSON.stringify(text);

const { sample } = fc.letrec<{ sample: Sample; list: Sample; object: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(fc.nat(9), name).map((value) => ({ text: JSON.stringify(value), value })),
    tie('object'),
    tie('list'),
  ),
  list: fc.array(tie('sample'), { maxLength: 3 }).map((items) => ({
    text: `[${items.map(({ text }) => text).join(',\n')}]`,
    value: items.map(({ value }) => value),
  })),
  object: fc.array(fc.tuple(name, fc.boolean(), tie('sample')), { maxLength: 5 }).map((members) => ({
    text: `{ ${members.map(([key, isEscaped, { text }]) => `${written(key, isEscaped)} :${text}`).join(',\n')} }`,
    value: new Map(members.map(([key, , { value }]) => [key, value])),
  })),
}));

function withMaps(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withMaps);
  return new Map(Object.entries(value).map(([key, member]) => [key, withMaps(member)]));
}

test('a key is not confused with one parsed before', () => {
  parseJson('{"!":1,"\\\\":0}');
  expect(Object.keys(parseJson('{"!":1,"\\"":2}') as object)).toEqual(['!', '"']);
  expect(parseJson('{"!":1,"a" : {"\\n"\t: "\\n", "b\\\\": [{"\\u0022":null}]}}')).toEqual({
    '!': 1,
    a: { '\n': '\n', 'b\\': [{ '"': null }] },
  });
});

test('objects have the keys as written, and the last of duplicates', () => {
  fc.assert(
    fc.property(sample, ({ text, value }) => {
      expect(withMaps(parseJson(text))).toEqual(value);
    }),
    { seed, numRuns: propertyRuns(5_000) },
  );
});

test('no text makes it slow: neither escaped characters nor many keys', () => {
  const text = '\ue000'.repeat(1_000_000);
  expect(parseJson(`{"\\"":1,"x":"${text}"}`)).toEqual({ '"': 1, x: text });
  const names = Array.from({ length: 20_000 }, (_, at) => `"${at}`);
  const many = `{${names.map((each) => `${JSON.stringify(each)}:0`).join(',')},"x":"${text}"}`;
  expect(Object.keys(parseJson(many) as object)).toEqual(expect.arrayContaining(names.slice(0, 3)));
});

test.each(['', '{"a\\', '{"a\\"', '{"\\x":1}', '{"a":1}}'])('refuses invalid JSON: %s', (json) => {
  expect(() => parseJson(json)).toThrow(SyntaxError);
});

test('refuses invalid JSON and names the place in the text', () => {
  expect(() => parseJson('{"\\"":1,}')).toThrow(/position 8/);
});
