import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { ValueMap } from '../../../../lib/filter/value-map.ts';
import { expectDurationBelow } from '../../../support/duration.ts';

const long = fc.tuple(fc.integer({ min: 15_998, max: 16_002 }), fc.constantFrom('a', 'b', '\ud800', '\udc00'));
const value: fc.Arbitrary<Scalar> = fc.oneof(
  fc.constantFrom<Scalar>(0, -0, 1, '1', '', 'a', true, false, null, 5e-324, 2 ** 53, -1e308, 1e-7),
  fc.double({ noNaN: true }),
  fc.integer(),
  fc.string(),
  long.map(([length, last]) => 'x'.repeat(length) + last),
);

test('holds the same as a Map', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(value, fc.option(fc.nat())), { maxLength: 200 }),
      fc.array(value),
      (entries, others) => {
        const map = new ValueMap();
        const expected = new Map<Scalar, number>();
        for (const [value, number] of entries) {
          for (const each of [map, expected]) number === null ? each.delete(value) : each.set(value, number);
        }
        const asked = [...entries.map(([value]) => value), ...others];
        expect(asked.map((value) => map.get(value))).toEqual(asked.map((value) => expected.get(value)));
      },
    ),
  );
});

/**
 * Looked up once, because each use of a jest global is a slow lookup, and this one is used millions
 * of times.
 */
const { imul } = Math;

/** V8's hash of a small integer, which is the same in every process. */
function hashOfSmallInteger(value: number): number {
  let hash = (~value + (value << 15)) | 0;
  hash ^= hash >>> 12;
  hash = (hash + (hash << 2)) | 0;
  hash ^= hash >>> 4;
  hash = imul(hash, 2_057);
  return (hash ^ (hash >>> 16)) & 0x3fff_ffff;
}

function* meeting(count: number): Iterable<number> {
  for (let value = 1; count > 0; value++) {
    if ((hashOfSmallInteger(value) & 0xfff) !== 0) continue;
    count--;
    yield value;
  }
}

const COUNT = 8_000;
const PREFIX = 'x'.repeat(20_000);

test.each<[string, Scalar[], Scalar[]]>([
  ['integers', Array.from({ length: COUNT }, (_, i) => i * 7), [...meeting(COUNT)]],
  [
    'long strings',
    Array.from({ length: 1_000 }, (_, i) => PREFIX.slice(i) + i),
    Array.from({ length: 1_000 }, (_, i) => PREFIX + String(i).padStart(4, '0')),
  ],
])('%s chosen to collide take no longer than others', (_, others, made) => {
  const times = { others: Number.POSITIVE_INFINITY, made: Number.POSITIVE_INFINITY };
  // The fastest of several rounds was disturbed least.
  for (let round = 0; round < 5; round++) {
    for (const [which, values] of [
      ['others', others],
      ['made', made],
    ] as const) {
      const startedMs = performance.now();
      const map = new ValueMap();
      for (const value of values) map.set(value, 1);
      const found = values.filter((value) => map.get(value) === 1).length;
      times[which] = Math.min(times[which], performance.now() - startedMs);
      expect(found).toBe(values.length);
    }
  }
  expectDurationBelow(times.made / times.others, 8);
});
