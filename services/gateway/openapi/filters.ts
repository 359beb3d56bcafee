import { INTERNAL_LIMITS, type Limits } from '../../../lib/limits.ts';
import { list, object, ref, type Schema, type Schemas } from './schema.ts';

const SCALAR: Schema = {
  description: 'Compared for equality; a list field matches by any of its elements.',
  anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }],
};
const ORDERED: Schema = {
  description: 'Numbers are compared with numbers, strings with strings.',
  anyOf: [{ type: 'string' }, { type: 'number' }],
};

/** The filter language as far as JSON Schema goes: not levels and conditions, which are counted over the whole filter. */
export function filterSchemas(limits: Limits): Schemas {
  const scalars = list(ref('FilterScalar'), { maxItems: limits.filterMaxInValues });
  const filters = list(ref('Filter'), { minItems: 1 });
  const operators: Schemas = {
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
      ...object({ $and: filters, $or: filters, $not: ref('Filter') }, ['$and', '$or', '$not']),
      patternProperties: { '^(?!\\$)': { anyOf: [ref('FilterScalar'), ref('FilterOperators')] } },
      additionalProperties: false,
      description: [
        'Conditions on metadata: `{field: value}` or `{field: {operator: operand}}`; several fields are joined by and; `{}` filters nothing.',
        'A field is a literal top-level key, else a dotted path. A list matches `$eq` and `$in` if any element does, `$ne` and `$nin` if none does.',
        'A record without the field matches only `$exists: false`, `$ne` and `$nin`.',
        `At most ${limits.filterMaxLevels} levels, ${limits.filterMaxConditions} conditions, ${limits.filterMaxInValues} values in a list`,
        `and ${INTERNAL_LIMITS.filterMaxListedValues} in all lists.`,
      ].join(' '),
    },
    FilterOperators: {
      ...object(operators, Object.keys(operators)),
      minProperties: 1,
      additionalProperties: false,
      description: 'All of them must hold.',
    },
    FilterScalar: SCALAR,
    FilterOrdered: ORDERED,
  };
}
