import { types } from 'node:util';
import { describeValue, invalidArgument, ProvecError } from '../errors.ts';
import { invalidValue, isJsonObject } from './fields.ts';
import type { Metric } from './metric.ts';

const { fround } = Math;
const FLOAT32_MAX = 3.4028234663852886e38;
/** The smallest number that rounds to infinity instead of `FLOAT32_MAX`. */
export const FLOAT32_END = 3.4028235677973366e38;

/**
 * Checks a vector and writes it as float32 to `target` at `offset`. It must have exactly
 * `dimensions` finite numbers within float32 range and, for cosine, not be all zero as float32.
 * Throws DIMENSION_MISMATCH or INVALID_ARGUMENT with the path of the element.
 */
export function writeVector(
  target: Float32Array,
  offset: number,
  value: unknown,
  path: string,
  dimensions: number,
  metric: Metric,
): void {
  // Not `instanceof`: an array from a worker thread may belong to another realm.
  const isArray = Array.isArray(value) || types.isFloat32Array(value);
  if (!isArray) throw notAVector(value, path, dimensions);
  const values = value as ArrayLike<unknown>;
  if (values.length !== dimensions) throw wrongLength(values, path, dimensions);
  let nonZero = false;
  for (let i = 0; i < dimensions; i++) {
    const number = values[i];
    if (typeof number !== 'number') throw notAComponent(number, `${path}[${i}]`);
    const single = fround(number);
    // Written so that NaN fails too.
    if (!(single <= FLOAT32_MAX && single >= -FLOAT32_MAX)) {
      throw invalidArgument(`${path}[${i}]`, 'a finite number within float32 range (at most 3.4028235e38)', number);
    }
    if (single !== 0) nonZero = true;
    target[offset + i] = single;
  }
  if (!nonZero && metric === 'cosine') throw zeroVector(path);
}

function wrongLength(values: ArrayLike<unknown>, path: string, dimensions: number): ProvecError {
  if (values.length !== 1 || !Array.isArray(values[0])) return dimensionMismatch(path, dimensions, values.length);
  return invalidValue(path, `an array of ${dimensions} numbers`, 'a list in a list', '; send the inner one');
}

/** Recognises what JavaScript and Python clients send by mistake. */
function notAVector(value: unknown, path: string, dimensions: number): ProvecError {
  const expected = `an array of ${dimensions} ${dimensions === 1 ? 'number' : 'numbers'}`;
  if (isJsonObject(value) && Object.hasOwn(value, '0'))
    return invalidValue(
      path,
      expected,
      'an object with the keys 0, 1, and so on',
      '; JSON.stringify writes a Float32Array like that: send Array.from(vector)',
    );
  if (typeof value === 'string' && /^\s*[[(]/.test(value)) {
    const isCut = /\.\.\.|…/.test(value);
    const got = isCut ? 'a printed list that was cut short ("...")' : 'a printed list';
    return invalidValue(path, expected, got, '; send the list itself, such as vector.tolist() of numpy');
  }
  return invalidArgument(path, expected, value);
}

function notAComponent(value: unknown, path: string): ProvecError {
  if (value === null)
    return invalidValue(path, 'a number', 'null', '; JSON.stringify writes NaN and Infinity like that');
  if (typeof value === 'string' && /^[+-]?(\d|\.\d|nan|inf)/i.test(value))
    return invalidValue(path, 'a number', describeValue(value), '; send numbers without quotes');
  return invalidArgument(path, 'a number', value);
}

const zeroVector = (path: string): ProvecError =>
  invalidValue(path, 'a vector that is not all zero (the metric is cosine)', 'all zero in float32');

/** Decodes a query's vector as float32; throws as `writeVector` does. */
export function decodeVector(value: unknown, path: string, dimensions: number, metric: Metric): Float32Array {
  const vector = new Float32Array(dimensions);
  writeVector(vector, 0, value, path, dimensions, metric);
  return vector;
}

function dimensionMismatch(path: string, dimensions: number, got: number): ProvecError {
  return new ProvecError(
    'DIMENSION_MISMATCH',
    `${path} has ${got} ${got === 1 ? 'number' : 'numbers'}, but the collection has ${dimensions} dimensions.`,
    {
      details: [{ path, expected: `${dimensions} numbers`, got: got === 0 ? 'an empty array' : `an array of ${got}` }],
    },
  );
}
