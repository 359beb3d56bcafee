import { type JsonSchema, ref } from '../json/schema.ts';
import { INTERNAL_LIMITS, type Limits } from '../limits.ts';
import type { CONDITIONS, LOGICAL } from './parse.ts';

const SCALAR: JsonSchema = {
  description: 'Compared for equality; a list field matches by any of its elements.',
  anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }],
};
const ORDERED: JsonSchema = {
  description: 'Numbers are compared with numbers, strings with strings.',
  anyOf: [{ type: 'string' }, { type: 'number' }],
};

/**
 * Returns the filter language as components of an OpenAPI document. It covers exactly the operators
 * of `parseFilter`, but not the limits on levels and conditions, which JSON Schema cannot count
 * over a whole filter. `absent` describes what matches a record without the field.
 */
export function filterSchemas(
  limits: Limits,
  absent = 'A record without the field meets only the conditions `$exists: false`, `$ne` and `$nin`.',
): Readonly<Record<string, JsonSchema>> {
  const scalars = { type: 'array', items: ref('FilterScalar'), maxItems: limits.filterMaxInValues };
  const filters = { type: 'array', items: ref('Filter'), minItems: 1 };
  const logical: Record<(typeof LOGICAL)[number], JsonSchema> = { $and: filters, $or: filters, $not: ref('Filter') };
  const conditions: Record<(typeof CONDITIONS)[number], JsonSchema> = {
    $eq: ref('FilterScalar'),
    $ne: ref('FilterScalar'),
    $gt: ref('FilterOrdered'),
    $gte: ref('FilterOrdered'),
    $lt: ref('FilterOrdered'),
    $lte: ref('FilterOrdered'),
    $in: scalars,
    $nin: scalars,
    $exists: { type: 'boolean' },
    $not: ref('FilterOperators'),
  };
  return {
    Filter: {
      type: 'object',
      properties: logical,
      patternProperties: { '^(?!\\$)': { anyOf: [ref('FilterScalar'), ref('FilterOperators')] } },
      additionalProperties: false,
      propertyNames: { maxLength: INTERNAL_LIMITS.fieldNameMaxBytes },
      description: [
        'Conditions on metadata: `{field: value}` or `{field: {operator: operand}}`; several fields must all match; `{}` filters nothing.',
        'A field names a top-level key if there is one, else a dotted path. A list matches `$eq` and `$in` if any element does, `$ne` and `$nin` if none does.',
        absent,
        `At most ${limits.filterMaxLevels} levels, ${limits.filterMaxConditions} conditions, ${limits.filterMaxInValues} values in a list`,
        `and ${INTERNAL_LIMITS.filterMaxListedValues} in all lists.`,
      ].join(' '),
    },
    FilterOperators: {
      type: 'object',
      properties: conditions,
      minProperties: 1,
      additionalProperties: false,
      description: 'All of them must hold.',
    },
    FilterScalar: SCALAR,
    FilterOrdered: ORDERED,
  };
}
