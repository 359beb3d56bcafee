import type { JsonSchema } from '../../../lib/json/schema.ts';

export { ref } from '../../../lib/json/schema.ts';
export type Schema = JsonSchema;
export type Schemas = Readonly<Record<string, Schema>>;

export const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more });
export const integer = (description: string, more: Schema = {}): Schema => ({ type: 'integer', description, ...more });
export const count = (description: string): Schema => integer(description, { minimum: 0 });
export const flag = (description: string): Schema => ({ type: 'boolean', description });
export const time = (description = 'ISO 8601 UTC.'): Schema => text(description, { format: 'date-time' });
export const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more });
export const MORE: Schema = text('Cursor of the next page; absent on the last page.');
export const TRUE: Schema = { type: 'boolean', const: true };

export const nullable = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] });

/** Returns a schema of an object in which all properties but the `optional` ones are required. */
export function object(properties: Schemas, optional: readonly string[] = [], more: Schema = {}): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, ...more };
}
