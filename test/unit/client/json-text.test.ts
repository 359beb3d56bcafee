import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from '../../../client/verify/json-text.ts';
import { parseJson as parseOnServer } from '../../../lib/json/text.ts';
import { cases } from '../../support/effort.ts';
import { seed } from '../../support/seed.ts';

/** Their first characters are those of escapes, so V8 takes one for another. */
const letter = fc.constantFrom('\\', '"', '\n', '\u0001', 'a', 'u', 'é', '\ud83d', '0', '_');
const name = fc.oneof(fc.string({ unit: letter, maxLength: 3 }), fc.constantFrom('__proto__', '"'));

const unicodeEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One of the ways to write a string. */
const written = (text: string, isEscaped: boolean): string =>
  isEscaped ? `"${text.split('').map(unicodeEscape).join('')}"` : JSON.stringify(text);

const { text } = fc.letrec<{ text: string; object: string }>((tie) => ({
  text: fc.oneof({ maxDepth: 3 }, fc.nat(9).map(String), name.map(JSON.stringify), tie('object')),
  object: fc
    .array(fc.tuple(name, fc.boolean(), tie('text')), { maxLength: 4 })
    .map((pairs) => `{ ${pairs.map(([key, isEscaped, value]) => `${written(key, isEscaped)} :${value}`).join(',')} }`),
}));

/** Objects as lists of their members, so that `__proto__` is compared as every other key. */
const membersOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? Object.entries(value).map(([k, v]) => [k, membersOf(v)]) : value;

test('a key is not taken for one that was parsed before', () => {
  expect(parseJson('{"!":1,"\\\\":0}')).toEqual({ '!': 1, '\\': 0 });
  expect(parseJson('{"!":1,"\\"":{"\\n" : "\\""}}')).toEqual({ '!': 1, '"': { '\n': '"' } });
});

test('objects have the keys that were written, as the server reads them', () => {
  fc.assert(
    fc.property(text, (json) => {
      expect(membersOf(parseJson(json))).toEqual(membersOf(parseOnServer(json)));
    }),
    { seed, numRuns: cases(2_000) },
  );
});

test.each(['', '{"a\\"', '{"\\x":1}', '{"a":1}}'])('what is no JSON is refused: %s', (json) => {
  expect(() => parseJson(json)).toThrow(SyntaxError);
});
