import { itemAt } from '../../lib/checked-access.ts';
import { isProvecError, type ProvecError } from '../../lib/errors.ts';
import type { JsonSchema } from '../../lib/json/schema.ts';
import { invalidValue, type JsonObject, mergeErrors, refuseUnknownFields } from '../../lib/records/fields.ts';
import type { DecodeContext, Field, FieldWithFallback, OptionalField } from './field.ts';

type Fields = Readonly<Record<string, Field<unknown>>>;

type MayBeAbsent<F extends Fields> = {
  [K in keyof F]: F[K] extends OptionalField<unknown> ? (F[K] extends FieldWithFallback<unknown> ? never : K) : never;
}[keyof F];
type ValueOf<F> = F extends Field<infer T> ? T : never;

/** The decoded value of a request with these fields. */
type Decoded<F extends Fields> = { [K in Exclude<keyof F, MayBeAbsent<F>>]: ValueOf<F[K]> } & {
  [K in MayBeAbsent<F>]?: ValueOf<F[K]>;
};

/** A flag, and the fields that are not allowed while it is true. */
type Excluded<N extends string = string> = readonly [flag: N, fields: readonly N[]];

/** The body of one kind of request. */
export class RequestKind<F extends Fields> {
  readonly names: readonly string[];
  readonly #fields: readonly [string, Field<unknown>][];
  readonly #exactlyOne: readonly string[] | null;
  readonly #isAnyRequired: boolean;
  readonly #excluded: Excluded | null;

  /**
   * `given`: fields of which exactly one must be set, or 'at least one' of all. `excluded`: a flag,
   * and the fields that may not be set while it is true.
   */
  constructor(
    fields: F,
    given: readonly (keyof F & string)[] | 'at least one' | null = null,
    excluded: Excluded<keyof F & string> | null = null,
  ) {
    this.#fields = Object.entries(fields);
    this.names = Object.keys(fields);
    this.#isAnyRequired = given === 'at least one';
    this.#exactlyOne = given === 'at least one' ? null : given;
    this.#excluded = excluded;
  }

  /** Throws INVALID_ARGUMENT for an unknown field, with the nearest known one. */
  refuseUnknown(body: JsonObject, path = ''): void {
    refuseUnknownFields(body, this.names, path);
  }

  /**
   * Checks the known fields of `body` and ignores others. Throws INVALID_ARGUMENT with all faults,
   * or a field's more specific error. `path` is the position of the body in a request.
   */
  decode(body: object, context: DecodeContext = {}, path = ''): Decoded<F> {
    const given = body as JsonObject;
    const decoded: JsonObject = {};
    const refusals: ProvecError[] = [];
    if (this.#exactlyOne !== null) requireOne(given, this.#exactlyOne, path);
    if (this.#isAnyRequired && this.names.every((name) => given[name] === undefined))
      throw invalidValue(
        pathTo(itemAt(this.names, 0), path),
        `given (at least one of ${this.names.join(', ')})`,
        'missing',
      );
    if (this.#excluded !== null) refuseExcluded(given, this.#excluded, path);
    for (const [name, field] of this.#fields) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined && field.isOptional) {
        if (field.fallback !== undefined) decoded[name] = field.fallback;
        continue;
      }
      try {
        decoded[name] = field.decode(value, pathTo(name, path), context);
      } catch (error) {
        if (!isProvecError(error) || error.code !== 'INVALID_ARGUMENT') throw error;
        refusals.push(error);
      }
    }
    if (refusals.length > 0) throw mergeErrors(refusals);
    return decoded as Decoded<F>;
  }

  get schema(): JsonSchema {
    return {
      type: 'object',
      properties: Object.fromEntries(this.#fields.map(([name, { schema }]) => [name, schema])),
      required: this.#fields.filter(([, { isOptional }]) => !isOptional).map(([name]) => name),
      additionalProperties: false,
      ...(this.#isAnyRequired && { anyOf: this.names.map((name) => ({ required: [name] })) }),
      ...(this.#excluded && exclusionSchema(this.#excluded)),
      ...(this.#exactlyOne && { oneOf: this.#exactlyOne.map((name) => ({ required: [name] })) }),
    };
  }
}

function refuseExcluded(given: JsonObject, [flag, names]: Excluded, path: string): void {
  if (given[flag] !== true) return;
  const other = names.find((name) => given[name] !== undefined);
  if (other !== undefined) throw invalidValue(pathTo(other, path), `absent where ${flag} is true`, 'given');
}

/** Schema that rejects these fields if the flag is true. */
function exclusionSchema([flag, names]: Excluded): JsonSchema {
  const conflicts = names.map((name) => ({
    properties: { [flag]: { const: true }, [name]: {} },
    required: [flag, name],
  }));
  return { not: conflicts.length === 1 ? conflicts[0] : { anyOf: conflicts } };
}

const pathTo = (name: string, path: string): string => (path === '' ? name : `${path}.${name}`);

function requireOne(given: JsonObject, names: readonly string[], path: string): void {
  const present = names.filter((name) => given[name] !== undefined);
  const [one, ...others] = present;
  if (one !== undefined && others.length === 0) return;
  const rule = `(exactly one of ${names.join(', ')})`;
  if (one === undefined) throw invalidValue(pathTo(itemAt(names, 0), path), `given ${rule}`, 'missing');
  throw invalidValue(pathTo(one, path), `given alone ${rule}`, `given with ${others.join(' and ')}`);
}
