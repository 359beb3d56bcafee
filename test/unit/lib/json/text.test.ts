import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from '../../../../lib/json/text.ts';
import { cases } from '../../../support/effort.ts';
import { seed } from '../../../support/seed.ts';

/**
 * Written so that the two may be taken for each other: their first characters are those of escapes.
 */
const letter = fc.constantFrom('\\', '"', '\n', '\u0001', 'a', 'u', 'é', '\ue000', '😀', '0');
const name = fc.array(letter, { minLength: 0, maxLength: 3 }).map((letters) => letters.join(''));

/** One of the ways to write a string. */
const written = (text: string, escaped: boolean): string =>
  escaped
    ? `"${[...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`
    : JSON.stringify(text);

const pair = fc.record({ name, escaped: fc.boolean(), value: fc.oneof(fc.nat(9), name) });

describe('JSON text', () => {
  test('a key is what was written, whatever was parsed before', () => {
    parseJson('{"h":[],"\\\\":0}');
    expect(Object.keys(parseJson('{"h":1,"\\"":2}') as object)).toEqual(['h', '"']);
    expect(parseJson('{"h":1,"a" : {"\\n"\t: "\\n", "b\\\\": [{"\\u0022":null}]}}')).toEqual({
      h: 1,
      a: { '\n': '\n', 'b\\': [{ '"': null }] },
    });
  });

  test('objects of keys that resemble escapes, of duplicates the last', () => {
    fc.assert(
      fc.property(fc.array(fc.array(pair, { maxLength: 5 }), { minLength: 1, maxLength: 4 }), (objects) => {
        const text = objects.map(
          (pairs) => `{ ${pairs.map((p) => `${written(p.name, p.escaped)} :${JSON.stringify(p.value)}`).join(',\n')} }`,
        );
        const expected = objects.map((pairs) => new Map(pairs.map((p) => [p.name, p.value])));
        const parsed = parseJson(`[${text.join(',')}]`) as Record<string, unknown>[];
        expect(parsed.map((object) => new Map(Object.entries(object)))).toEqual(
          expected.map((map) => new Map(Object.entries(Object.fromEntries(map)))),
        );
      }),
      { seed, numRuns: cases(5_000) },
    );
  });

  test('no text makes it slow: neither characters that stand for others nor many keys', () => {
    const text = '\ue000'.repeat(1_000_000);
    expect(parseJson(`{"\\"":1,"x":"${text}"}`)).toEqual({ '"': 1, x: text });
    const names = Array.from({ length: 20_000 }, (_, at) => `"${at}`);
    const many = `{${names.map((name) => `${JSON.stringify(name)}:0`).join(',')},"x":"${text}"}`;
    expect(Object.keys(parseJson(many) as object)).toEqual(expect.arrayContaining(names.slice(0, 3)));
  });

  test('more keys with escapes than anybody writes are refused before they cost', () => {
    const many = (count: number) => `{${'"\\"":0,'.repeat(count)}"x":1}`;
    expect(parseJson(many(500_000))).toEqual({ '"': 0, x: 1 });
    expect(() => parseJson(many(500_001))).toThrow('More than 500,000 keys are written with escapes.');
  });

  test('what is no JSON is refused with the place in the text that was sent', () => {
    expect(() => parseJson('{"\\"":1,}')).toThrow(/position 8/);
    expect(() => parseJson('{"a\\')).toThrow(SyntaxError);
  });

  test('a parser that refuses sees keys as they are', () => {
    const seen: string[] = [];
    const parse = (text: string) => {
      seen.push(text);
      return JSON.parse(text) as unknown;
    };
    parseJson('{"\\u005f_proto__":1}', parse);
    expect(seen.at(-1)).toBe('{"__proto__":1}');
    parseJson('{"a":"\\n"}', parse);
    expect(seen).toHaveLength(3);
  });
});
