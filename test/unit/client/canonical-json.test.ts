import { expect, test } from '@jest/globals';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalJson } from '../../../client/verify/canonical-json.ts';
import { seed } from '../../support/seed.ts';

test("equals the server's RFC 8785 for any JSON", () => {
  const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 });
  fc.assert(
    fc.property(json, (value) => {
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }),
    { seed, numRuns: 500 },
  );
});

test('orders keys by UTF-16 code units and prints numbers as the RFC does', () => {
  const value = JSON.parse(
    '{"\\ufb33":1,"\\ud83d\\ude00":2,"\\u20ac":3,"1":4,"\\r":5,"__proto__":6,"a":[-0,1e21,1E-7,333333333.33333329]}',
  );
  const expected = '{"\\r":5,"1":4,"__proto__":6,"a":[0,1e+21,1e-7,333333333.3333333],"€":3,"😀":2,"\ufb33":1}';
  expect(canonicalJson(value)).toBe(expected);
  expect(canonicalJson(Object.assign(Object.create(null), { b: null, a: true }))).toBe('{"a":true,"b":null}');
});

test.each([
  ['undefined', undefined],
  ['NaN', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['bigint', 1n],
  ['function', () => 1],
  ['symbol', Symbol('s')],
  ['lone surrogate', '\ud800'],
  ['lone surrogate in a key', { '\udc00': 1 }],
  ['Date', new Date(0)],
  ['Map', new Map()],
  ['undefined in an object', { a: undefined }],
  ['hole in a list', new Array(1)],
])('refuses %s', (_name, value) => {
  expect(() => canonicalJson(value)).toThrow(TypeError);
});

test('refuses endless nesting', () => {
  const endless: Record<string, unknown> = {};
  endless.self = endless;
  expect(() => canonicalJson(endless)).toThrow(RangeError);
  expect(canonicalJson(JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`))).toHaveLength(128);
});
