import { describeValue } from '../../lib/errors.ts';
import { type JsonSchema, ref } from '../../lib/json/schema.ts';
import type { Limits } from '../../lib/limits.ts';
import { decodeFieldName, FIELD_NAME_MAX_BYTES } from '../../lib/records/field-name.ts';
import { boundedArray, invalidValue, isJsonObject, refuseUnknownFields } from '../../lib/records/fields.ts';
import { decodeId } from '../../lib/records/ids.ts';
import { canonicalMetadata } from '../../lib/records/metadata.ts';
import { decodeVector } from '../../lib/records/vector.ts';
import type { MetadataMerge, RecordUpdate } from '../../lib/shard/change.ts';
import { type DecodeContext, type Field, shapeOf } from './field.ts';

const UPDATE_FIELDS = ['id', 'values', 'setMetadata', 'unsetMetadata'] as const;

const SET_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'Keys of the metadata to set, each as a whole; null is a value.',
  minProperties: 1,
  additionalProperties: true,
};

/** Metadata keys to set, as JSON. */
export const setMetadata = (limits: Limits): Field<string> => ({
  schema: SET_SCHEMA,
  decode(value, path) {
    const set = canonicalMetadata(value ?? null, path, limits);
    if (set === '{}') throw invalidValue(path, 'an object with a key', 'an empty object');
    return set;
  },
});

export const unsetMetadata = (limits: Limits): Field<string[]> => ({
  schema: {
    type: 'array',
    description: 'Top-level keys of the metadata to remove.',
    items: { type: 'string', maxLength: FIELD_NAME_MAX_BYTES },
    minItems: 1,
    maxItems: limits.unsetKeysMax,
  },
  decode(value, path) {
    const keys = boundedArray(value, path, 1, limits.unsetKeysMax, 'keys');
    for (const [at, key] of keys.entries()) decodeFieldName(key, `${path}[${at}]`, 'a key of the metadata');
    return [...new Set(keys as string[])];
  },
});

/** Throws INVALID_ARGUMENT for a merge that sets and removes the same key. */
export function mergeOf(set: string | undefined, unset: string[] = [], path = ''): MetadataMerge {
  const keys = set === undefined ? {} : (JSON.parse(set) as object);
  const both = unset.find((key) => Object.hasOwn(keys, key));
  if (both !== undefined)
    throw invalidValue(`${path}unsetMetadata`, 'of keys that setMetadata does not set', 'with one that it sets');
  return { set: set ?? null, unset };
}

/** Updates of records by id; ids are distinct. */
export const updates = (limits: Limits): Field<RecordUpdate[]> => ({
  schema: { type: 'array', items: ref('RecordUpdate'), minItems: 1, maxItems: limits.updatesPerRequestMax },
  decode(value, path, context) {
    const given = boundedArray(value, path, 1, limits.updatesPerRequestMax, 'updates');
    const found = given.map((each, at) => updateOf(each, `${path}[${at}]`, limits, context));
    const ids = new Set<string>();
    for (const { id, path: at } of found) {
      if (ids.has(id)) throw invalidValue(`${at}.id`, 'an id that appears only once', 'one that appeared before');
      ids.add(id);
    }
    return found;
  },
});

/** Schema of one element of `updates`. */
export function updateSchema(limits: Limits, vector: JsonSchema): JsonSchema {
  const properties: Record<(typeof UPDATE_FIELDS)[number], JsonSchema> = {
    id: ref('RecordId'),
    values: vector,
    setMetadata: setMetadata(limits).schema,
    unsetMetadata: unsetMetadata(limits).schema,
  };
  return {
    type: 'object',
    description: 'What is merged into a record; a record that is not there is left out.',
    properties,
    required: ['id'],
    anyOf: UPDATE_FIELDS.slice(1).map((name) => ({ required: [name] })),
    additionalProperties: false,
  };
}

function updateOf(given: unknown, path: string, limits: Limits, context: DecodeContext): RecordUpdate {
  const expected = 'an object with id, and values, setMetadata or unsetMetadata';
  if (!isJsonObject(given)) throw invalidValue(path, expected, describeValue(given));
  refuseUnknownFields(given, UPDATE_FIELDS, path);
  const id = decodeId(given.id, `${path}.id`, limits);
  const { dimensions, metric } = shapeOf(context);
  const { values, setMetadata: set, unsetMetadata: unset } = given;
  if (values === undefined && set === undefined && unset === undefined) throw invalidValue(path, expected, 'id alone');
  const decode = <T>(field: Field<T>, name: 'setMetadata' | 'unsetMetadata'): T | undefined =>
    given[name] === undefined ? undefined : field.decode(given[name], `${path}.${name}`, context);
  const merge = mergeOf(
    decode(setMetadata(limits), 'setMetadata'),
    decode(unsetMetadata(limits), 'unsetMetadata'),
    `${path}.`,
  );
  const vector = values === undefined ? null : decodeVector(values, `${path}.values`, dimensions, metric);
  return { id, values: vector, ...merge, path };
}
