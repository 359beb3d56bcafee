import type { JsonSchema } from '../../../lib/json/schema.ts';
import { CURSOR_MAX_CHARS } from '../../../lib/requests/page-cursor.ts';
import type { Fields } from '../../../lib/requests/request.ts';

export { ref } from '../../../lib/json/schema.ts';
export type Schema = JsonSchema;
export type Schemas = Readonly<Record<string, Schema>>;

export const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more });
export const integer = (description: string, more: Schema = {}): Schema => ({ type: 'integer', description, ...more });
export const flag = (description: string, more: Schema = {}): Schema => ({ type: 'boolean', description, ...more });
export const time = (description: string): Schema => text(description, { format: 'date-time' });
export const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more });

/** The same schema, or null. */
export const nullable = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] });

/** An object of which all properties are present except the `optional` ones. */
export function object(properties: Schemas, optional: readonly string[] = []): Schema {
  return { type: 'object', properties, required: Object.keys(properties).filter((name) => !optional.includes(name)) };
}

export const MERKLE_ROOT = text('Root over all records: 64 hex digits.', { pattern: '^[0-9a-f]{64}$' });

/** Query parameters of a list that is answered in pages; `limit` has these bounds. */
export const pageParameters = (limit: Schema): readonly Schema[] => [
  { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, ...limit } },
  {
    name: 'cursor',
    in: 'query',
    description: '`nextCursor` of the page before.',
    schema: { type: 'string', minLength: 1, maxLength: CURSOR_MAX_CHARS },
  },
];

/** The schemas of fields by their names. */
export const schemasOf = (fields: Fields): Schemas =>
  Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));
