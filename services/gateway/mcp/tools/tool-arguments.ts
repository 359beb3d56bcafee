import { describeValue, invalidArgument } from '../../../../lib/errors.ts';
import {
  boundedArray,
  invalidValue,
  isJsonObject,
  type JsonObject,
  refuseUnknownFields,
} from '../../../../lib/records/fields.ts';

/** The arguments that a tool has besides `collection`. */
interface ArgumentNames {
  properties: object;
  required: readonly string[];
}

interface Circumstances {
  /** Collection for calls that name none. */
  collection: string | undefined;
  /** First integer in the message that a double cannot represent; null if there is none. */
  roundedInteger: string | null;
}

/** Arguments of one call of a tool. Values that a route checks are passed on unchecked. */
export class ToolArguments {
  readonly #given: JsonObject;
  readonly #circumstances: Circumstances;

  /** Throws INVALID_ARGUMENT for an argument that the tool does not have. */
  constructor(given: JsonObject, { properties, required }: ArgumentNames, circumstances: Circumstances) {
    refuseUnknownFields(given, ['collection', ...Object.keys(properties)]);
    for (const name of required) if (given[name] === undefined) throw invalidArgument(name, 'given', undefined);
    this.#given = given;
    this.#circumstances = circumstances;
  }

  get roundedInteger(): string | null {
    return this.#circumstances.roundedInteger;
  }

  /** Returns the collection, or undefined if neither the call nor the address names one. */
  get namedCollection(): string | undefined {
    const { collection = this.#circumstances.collection } = this.#given;
    if (collection === undefined || typeof collection === 'string') return collection;
    throw invalidArgument('collection', 'the name of a collection', collection);
  }

  /** Returns the collection. Throws INVALID_ARGUMENT if there is none. */
  get collection(): string {
    const name = this.namedCollection;
    if (name !== undefined) return name;
    throw invalidValue('collection', 'the name of a collection', 'missing', '; the tool list names them');
  }

  /** Returns the given ones of these arguments, under the same names. */
  pick(...names: string[]): JsonObject {
    return Object.fromEntries(names.flatMap((name) => (this.has(name) ? [[name, this.#given[name]]] : [])));
  }

  has(name: string): boolean {
    return this.#given[name] !== undefined;
  }

  /** Returns a string, or undefined. Throws INVALID_ARGUMENT. */
  string(name: string): string | undefined {
    const value = this.#given[name];
    if (value === undefined || typeof value === 'string') return value;
    throw invalidArgument(name, 'a string', value);
  }

  /** Returns a text that is not blank, or undefined. Throws INVALID_ARGUMENT. */
  text(name: string): string | undefined {
    return this.has(name) ? textAt(this.#given[name], name) : undefined;
  }

  /** Returns a whole number from 1 to `max`. Throws INVALID_ARGUMENT. */
  count(name: string, fallback: number, max: number): number {
    const value = this.#given[name] ?? fallback;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
    throw invalidArgument(name, `a whole number from 1 to ${max}`, value);
  }

  /** Returns a list of at most `max` values. Throws INVALID_ARGUMENT. */
  list(name: string, max: number): unknown[] {
    return boundedArray(this.#given[name], name, 1, max, name);
  }

  /** Returns a list of at most `max` objects with only these fields. Throws INVALID_ARGUMENT. */
  objects(name: string, max: number, fields: readonly string[]): JsonObject[] {
    return this.list(name, max).map((value, at) => {
      const path = `${name}[${at}]`;
      if (!isJsonObject(value)) throw invalidValue(path, 'an object', describeValue(value));
      refuseUnknownFields(value, fields, path);
      return value;
    });
  }
}

/** Returns a text that is not blank. Throws INVALID_ARGUMENT. */
export function textAt(value: unknown, path: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw invalidArgument(path, 'a text', value);
}
