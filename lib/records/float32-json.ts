/**
 * Writes float32 numbers as JSON with the fewest significant digits (up to 9) that read back as the
 * same float32, so that a client that sent 0.1 gets 0.1. Writes bytes directly, because strings
 * converted to UTF-8 cost three times as much.
 */

/** 10^0 to 10^22: the powers of ten that a double represents exactly. */
export const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

// Cached, because this code runs for every number of every vector sent.
const { abs, floor, fround, log10, round } = Math;

/** Below this, float32 has fewer than 6 digits of precision, so a shorter decimal may suffice. */
const SMALLEST_NORMAL = 2 ** -126;

/** The length of the longest number: `-340282350000000000000`. */
export const FLOAT32_JSON_MAX_BYTES = 22;

const ZERO = 0x30;
const MINUS = 0x2d;
const POINT = 0x2e;
const COMMA = 0x2c;
const OPENING = 0x5b;
const CLOSING = 0x5d;

/** Formats one finite number. Throws RangeError for NaN and infinities. */
export function float32Json(value: number): string {
  if (value === floor(value) && value > -16_777_217 && value < 16_777_217) return `${value}`;
  if (!Number.isFinite(value)) throw new RangeError('JSON has no number for NaN or infinity');
  const magnitude = abs(value);
  const exponent = floor(log10(magnitude));
  // m / 10^k with an exact power of ten is the double nearest to that decimal, which String()
  // prints with exactly those digits.
  for (let digits = 6; digits <= 9; digits++) {
    const scale = POWERS_OF_TEN[digits - 1 - exponent];
    if (scale === undefined) break;
    const candidate = round(magnitude * scale) / scale;
    if (fround(candidate) === magnitude) return `${value < 0 ? -candidate : candidate}`;
  }
  for (let digits = magnitude < SMALLEST_NORMAL ? 1 : 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

/**
 * Writes a vector as a JSON array at `at` and returns the end offset. `target` must have room for
 * `float32ArrayMaxBytes`. Throws RangeError for NaN and infinities.
 */
export function writeFloat32Array(target: Uint8Array, at: number, values: Float32Array): number {
  let end = at;
  target[end++] = OPENING;
  for (let i = 0; i < values.length; i++) {
    if (i > 0) target[end++] = COMMA;
    end = writeFloat32(target, end, values[i]!);
  }
  target[end++] = CLOSING;
  return end;
}

/** Maximum size, in bytes, of an array of `length` numbers. */
export function float32ArrayMaxBytes(length: number): number {
  return 2 + length * (FLOAT32_JSON_MAX_BYTES + 1);
}

function writeFloat32(target: Uint8Array, start: number, value: number): number {
  const magnitude = abs(value);
  // Outside this range `String` uses exponents or writes digits that are not significant.
  if (!(magnitude >= 1e-6 && magnitude < 1e7)) return writeText(target, start, float32Json(value));
  let at = start;
  if (value < 0) target[at++] = MINUS;
  if (magnitude === floor(magnitude)) return writeDecimal(target, at, magnitude, 0);
  const exponent = exponentOf(magnitude);
  for (let digits = 6; digits <= 9; digits++) {
    let places = digits - 1 - exponent;
    const scale = POWERS_OF_TEN[places]!;
    let decimal = round(magnitude * scale);
    if (fround(decimal / scale) !== magnitude) continue;
    for (; places > 0 && decimal % 10 === 0; places--) decimal /= 10;
    return writeDecimal(target, at, decimal, places);
  }
  return writeText(target, start, float32Json(value));
}

/** Returns the greatest e with 10^e <= magnitude, for magnitudes from 1e-6 to below 1e7. */
function exponentOf(magnitude: number): number {
  if (magnitude < 1) {
    if (magnitude >= 0.1) return -1;
    if (magnitude >= 0.01) return -2;
    if (magnitude >= 0.001) return -3;
    if (magnitude >= 1e-4) return -4;
    return magnitude >= 1e-5 ? -5 : -6;
  }
  if (magnitude < 10) return 0;
  if (magnitude < 100) return 1;
  if (magnitude < 1e3) return 2;
  if (magnitude < 1e4) return 3;
  if (magnitude < 1e5) return 4;
  return magnitude < 1e6 ? 5 : 6;
}

/** Writes `decimal` / 10^`places`. `decimal` is an integer below 2^31, the quotient below 1e7. */
function writeDecimal(target: Uint8Array, start: number, decimal: number, places: number): number {
  let digits = 1;
  while (decimal >= POWERS_OF_TEN[digits]!) digits++;
  const whole = digits > places ? digits - places : 1;
  const end = start + whole + (places > 0 ? places + 1 : 0);
  let at = end;
  let rest = decimal | 0;
  for (let left = places; left > 0; left--) {
    const tenth = (rest / 10) | 0;
    target[--at] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  if (places > 0) target[--at] = POINT;
  while (at > start) {
    const tenth = (rest / 10) | 0;
    target[--at] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  return end;
}

function writeText(target: Uint8Array, start: number, text: string): number {
  for (let i = 0; i < text.length; i++) target[start + i] = text.charCodeAt(i);
  return start + text.length;
}
