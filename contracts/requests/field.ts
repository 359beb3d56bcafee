/**
 * A field of a request: how its value is checked and, from the same bounds, its schema in the API
 * document.
 *
 * `decode` returns the value as the service uses it. It throws INVALID_ARGUMENT, or a more specific
 * code, with the path.
 */
import { describeValue, invalidArgument, type ProvecError } from '../../lib/errors.ts';
import { type JsonSchema, ref } from '../../lib/json/schema.ts';
import { nearest } from '../../lib/nearest.ts';
import { invalidValue, mergeErrors, printableName } from '../../lib/records/fields.ts';
import type { Metric } from '../../lib/records/metric.ts';

/** Context that a value is checked against, besides the limits. */
export interface DecodeContext {
  /** Shape of the collection, for requests with vectors. */
  shape?: { dimensions: number; metric: Metric } | null;
  /** Current time, for requests with times. */
  wallMs?: number;
  /** Names of all plans, for requests that name one. */
  plans?: readonly string[];
  /** Minimum number of records in a write; default: 1. */
  recordsMin?: number;
}

/** Returns the collection's shape, which decoding vectors requires. Throws if it is missing. */
export function shapeOf({ shape }: DecodeContext): NonNullable<DecodeContext['shape']> {
  if (!shape) throw new Error('a body with vectors needs the shape of its collection');
  return shape;
}

export interface Field<T> {
  decode(value: unknown, path: string, context: DecodeContext): T;
  readonly schema: JsonSchema;
  readonly isOptional?: boolean;
  /** Value used when an optional field is absent. */
  readonly fallback?: T;
}
export interface OptionalField<T> extends Field<T> {
  readonly isOptional: true;
}
export interface FieldWithFallback<T> extends OptionalField<T> {
  readonly fallback: T;
}

/** Builds a field whose values satisfy `accepts`. `expected` completes "must be". */
function checkedField<T>(expected: string, schema: JsonSchema, accepts: (value: unknown) => boolean): Field<T> {
  return {
    schema,
    decode(value, path) {
      if (!accepts(value)) throw invalidArgument(path, expected, value);
      return value as T;
    },
  };
}

const isWhole = (value: unknown, min: number, max: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;

export function integerField(description: string, min: number, max: number): Field<number> {
  const expected = `a whole number from ${min} to ${max.toLocaleString('en')}`;
  return {
    schema: { type: 'integer', description, minimum: min, maximum: max },
    decode(value, path) {
      if (isWhole(value, min, max)) return value;
      if (typeof value === 'string' && /^\d{1,16}$/.test(value))
        throw invalidValue(path, expected, `the string "${value}"`, '; send it without quotes');
      throw invalidArgument(path, expected, value);
    },
  };
}

export function powerOfTwoField(description: string, max: number): Field<number> {
  const powers = Array.from({ length: 1 + Math.floor(Math.log2(max)) }, (_, exponent) => 2 ** exponent);
  const schema = { type: 'integer', description, enum: powers };
  return checkedField(`a power of two from 1 to ${max}`, schema, (value) => powers.includes(value as number));
}

export const finiteNumber = (description: string): Field<number> =>
  checkedField('a finite number', { type: 'number', description }, Number.isFinite);

export const flagField = (description: string): Field<boolean> =>
  checkedField('true or false', { type: 'boolean', description }, (value) => typeof value === 'boolean');

export const trueField = (description: string): Field<true> =>
  checkedField('true', { type: 'boolean', const: true, description }, (value) => value === true);

/** `aliases` are other products' names for the values; the error message resolves them. */
export function choiceField<T extends string>(
  description: string,
  values: readonly T[],
  aliases: Readonly<Record<string, T>> = {},
): Field<T> {
  return {
    schema: { type: 'string', description, enum: [...values] },
    decode(value, path) {
      if (!values.includes(value as T)) throw notOneOf(path, values, value, aliases);
      return value as T;
    },
  };
}

/** Builds an error that quotes the value and suggests the nearest of `values`. */
function notOneOf(
  path: string,
  values: readonly string[],
  value: unknown,
  aliases: Readonly<Record<string, string>> = {},
): ProvecError {
  const expected = `one of ${values.join(', ')}`;
  if (typeof value !== 'string' || value === '') return invalidArgument(path, expected, value);
  const name = printableName(value);
  const likely = nearest(value, [...values, ...Object.keys(aliases)]);
  const hint = likely === null ? '' : `; did you mean ${aliases[likely] ?? likely}?`;
  return invalidValue(path, expected, `"${name}"`, hint);
}

/** A non-empty list of distinct `values`. */
export function choicesField<T extends string>(description: string, values: readonly T[]): Field<T[]> {
  const schema = { type: 'array', description, items: { type: 'string', enum: [...values] }, minItems: 1 };
  return {
    schema: { ...schema, uniqueItems: true },
    decode(value, path) {
      if (!Array.isArray(value) || value.length === 0 || value.length > values.length)
        throw invalidArgument(path, `an array of at least one of ${values.join(', ')}, each at most once`, value);
      const refusals: ProvecError[] = [];
      for (const [at, each] of value.entries()) {
        const where = `${path}[${at}]`;
        if (!values.includes(each)) refusals.push(notOneOf(where, values, each));
        else if (value.indexOf(each) !== at)
          refusals.push(invalidValue(where, 'a value that appears only once', `a second ${each}`));
      }
      if (refusals.length > 0) throw mergeErrors(refusals);
      return [...value];
    },
  };
}

/** Well-formed text of 1 to `maxChars` code points, so that an emoji counts once. */
export function label(description: string, maxChars: number): Field<string> {
  const expected = `a string of 1 to ${maxChars} characters`;
  return {
    schema: { type: 'string', description, minLength: 1, maxLength: maxChars },
    decode(value, path) {
      if (typeof value !== 'string' || value === '') throw invalidArgument(path, expected, value);
      if (!value.isWellFormed()) throw invalidValue(path, expected, 'ill-formed Unicode');
      const isShort = value.length <= maxChars || (value.length <= 2 * maxChars && [...value].length <= maxChars);
      if (!isShort) throw invalidValue(path, expected, describeValue(value));
      return value;
    },
  };
}

/** Makes a field optional. */
export function optionalField<T>(field: Field<T>): OptionalField<T>;
/** Makes a field optional with a default value. */
export function optionalField<T>(field: Field<T>, fallback: T): FieldWithFallback<T>;
export function optionalField<T>(field: Field<T>, ...[fallback]: [T?]): OptionalField<T> {
  if (fallback === undefined) return { ...field, isOptional: true };
  return { ...field, isOptional: true, fallback, schema: { ...field.schema, default: fallback } };
}

/** Makes the API document refer to the field's schema by the component `name`. */
export function componentField<T>(name: string, field: Field<T>): Field<T> {
  return { ...field, schema: ref(name) };
}
