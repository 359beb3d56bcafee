import { expect, test } from '@jest/globals';
import { parseJson } from '../../../../lib/json/text.ts';

test('an absurd number of escaped keys is refused early', () => {
  const many = (count: number) => `{${'"\\"":0,'.repeat(count)}"x":1}`;
  expect(parseJson(many(500_000))).toEqual({ '"': 0, x: 1 });
  expect(() => parseJson(many(500_001))).toThrow('More than 500,000 keys are written with escapes.');
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
