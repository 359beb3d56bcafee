import type { JsonSchema } from '../../../lib/json/schema.ts';

export { ref } from '../../../lib/json/schema.ts';
export type OpenApiSchema = JsonSchema;
export type OpenApiSchemas = Readonly<Record<string, OpenApiSchema>>;
/** Parameters in a path or query, by name. */
export type OpenApiParameters = Readonly<
  Record<string, { required?: boolean; description?: string; schema: OpenApiSchema }>
>;

export const textSchema = (description: string, more: OpenApiSchema = {}): OpenApiSchema => ({
  type: 'string',
  description,
  ...more,
});
export const integerSchema = (description: string, more: OpenApiSchema = {}): OpenApiSchema => ({
  type: 'integer',
  description,
  ...more,
});
export const countSchema = (description: string): OpenApiSchema => integerSchema(description, { minimum: 0 });
export const flagSchema = (description: string): OpenApiSchema => ({ type: 'boolean', description });
export const time = (description = 'ISO 8601 UTC.'): OpenApiSchema => textSchema(description, { format: 'date-time' });
export const listSchema = (items: OpenApiSchema, more: OpenApiSchema = {}): OpenApiSchema => ({
  type: 'array',
  items,
  ...more,
});
export const MORE: OpenApiSchema = textSchema('Cursor of the next page; absent on the last page.');
export const TRUE: OpenApiSchema = { type: 'boolean', const: true };

export const nullableSchema = (schema: OpenApiSchema): OpenApiSchema => ({
  ...schema,
  type: [schema.type ?? [], 'null'].flat(),
});

/** Returns a schema of an object in which all properties but the `optional` ones are required. */
export function object(
  properties: OpenApiSchemas,
  optional: readonly string[] = [],
  more: OpenApiSchema = {},
): OpenApiSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, ...more };
}
