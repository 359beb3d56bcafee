import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { float32Scanner } from '../../../../../lib/records/kernel/float32-scanner.ts';
import { isThorough } from '../../../../support/effort.ts';

const FLOAT32_MAX = 3.4028234663852886e38;

function scan(text: string, length: number): { numbers: Float32Array; end: number } | null {
  const numbers = new Float32Array(length);
  const end = float32Scanner.scan(Buffer.from(`x:${text},"more":1`), 2, numbers);
  return end === 0 ? null : { numbers, end: end - 2 };
}

/**
 * Result of JSON.parse and Math.fround; null when the text is not an array of `length` float32
 * numbers.
 */
function reference(text: string, length: number): Float32Array | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(value) || value.length !== length) return null;
  const isNumber = (each: unknown) => typeof each === 'number' && Math.abs(Math.fround(each)) <= FLOAT32_MAX;
  return value.every(isNumber) ? Float32Array.from(value as number[]) : null;
}

/** Whether the scanner read the array. If it did, the numbers must be right. */
function reads(text: string, length: number): boolean {
  const found = scan(text, length);
  if (found === null) return false;
  const expected = reference(text, length);
  expect(expected).not.toBeNull();
  // Compares bits, to tell -0 from 0.
  expect(new Uint32Array(found.numbers.buffer)).toEqual(new Uint32Array(expected!.buffer));
  expect(found.end).toBe(text.length);
  return true;
}

const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength });
const written = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), digits(25)),
    fc.option(digits(45), { nil: null }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(4)), { nil: null }),
  )
  .map(([sign, whole, part, power]) => `${sign}${whole}${part === null ? '' : `.${part}`}${(power ?? []).join('')}`);
const printed = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1, max: 1 }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number.toPrecision(17)),
);
/**
 * Doubles at and near the midpoint of two neighbouring float32 numbers, where the last digit
 * decides the rounding.
 */
const between = fc
  .tuple(
    fc.float({ noNaN: true, noDefaultInfinity: true, min: Math.fround(1e-6), max: 1e6 }),
    fc.integer({ min: -2, max: 2 }),
  )
  .map(([low, steps]) => {
    const bits = new Uint32Array(Float32Array.of(low).buffer);
    bits[0] = bits[0]! + 1;
    const middle = (low + new Float32Array(bits.buffer)[0]!) / 2;
    return (middle * (1 + steps * 2 ** -52)).toPrecision(17);
  });
const blank = fc.constantFrom('', '', '', ' ', '\n', '\r\n', '\t');

describe('arrays of numbers as float32', () => {
  test('match JSON.parse and rounding', () => {
    const number = fc.oneof(written, printed, between);
    const array = fc.array(fc.tuple(blank, number, blank), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(array, fc.constantFrom(0, 0, 0, 0, 1, -1), (numbers, off) => {
        reads(`[${numbers.map((each) => each.join('')).join(',')}]`, Math.max(1, numbers.length + off));
      }),
      { numRuns: isThorough ? 200_000 : 5_000 },
    );
  });

  test('are read as any language prints float32 and float64 numbers', () => {
    const single = fc.float({ noNaN: true, noDefaultInfinity: true, min: Math.fround(1e-25), max: Math.fround(1e38) });
    const double = fc.double({ noNaN: true, noDefaultInfinity: true, min: 1e-25, max: 1e38 });
    const text = fc.oneof(
      single.map(String),
      double.map(String),
      double.map((number) => number.toExponential()),
      single.map((number) => number.toPrecision(9)),
      double.map((number) => number.toPrecision(17)),
      single.map((number) => number.toFixed(6)),
    );
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 6 }), (numbers) => {
        expect(reads(`[${numbers.join(', ')}]`, numbers.length)).toBe(true);
      }),
      { numRuns: isThorough ? 100_000 : 3_000 },
    );
  });

  test('midway between two float32 numbers are left to JSON.parse', () => {
    expect(reads('[16777217.0000000000000000001]', 1)).toBe(false);
    expect(reads('[0.1000000052154064178466796874999]', 1)).toBe(false);
    // Numbers from here on round to infinity.
    expect(reads('[3.4028235677973362e38]', 1)).toBe(false);
  });

  test.each([
    '[]',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[01]',
    '[-]',
    '[+1]',
    '[.5]',
    '[1.]',
    '[1.e5]',
    '[1e]',
    '[1e+]',
    '[0x1]',
    '[1_0]',
    '[NaN]',
    '[Infinity]',
    '[null]',
    '["1"]',
    '[[1]]',
    '[1',
    '[1e39]',
    '[-3.5e38]',
    '[1e400]',
    '[1\u000b]',
  ])('%s is left to JSON.parse', (text) => {
    for (const length of [0, 1, 2]) expect(scan(text, length)).toBeNull();
  });

  test.each([
    '[-0]',
    '[0e5]',
    '[-0.0e-0]',
    '[3.4028235e38]',
    '[1e-44]',
    `[0.${'0'.repeat(20)}1]`,
    `[1${'0'.repeat(30)}]`,
    '[16777217]',
    '[9007199254740993]',
    '[0.100000001490116119384765625]',
  ])('%s', (text) => expect(reads(text, 1)).toBe(true));

  test('may have the maximum of dimensions, with blanks in between', () => {
    const text = `[${Array.from({ length: 8_192 }, (_, i) => `\n    ${-i / 8_192}`).join(',')}\n]`;
    expect(reads(text, 8_192)).toBe(true);
    expect(reads(text, 8_193)).toBe(false);
  });
});
