import type { ApiSchema, WrittenDocument } from './api-document.ts';

/** A field of a schema. */
export interface SchemaRow {
  /** Its path, such as `records[].values`. */
  name: string;
  type: string;
  isRequired: boolean;
  meaning: string;
}

type Components = WrittenDocument['components'];

/** Levels of objects that are shown; deeper ones have a name of their own in the API's docs. */
const LEVELS = 4;
const ROWS_MAX = 200;

/** Returns the fields of a schema, those of objects below them, too. */
export function schemaRows(schema: ApiSchema, components: Components): SchemaRow[] {
  const rows: SchemaRow[] = [];
  addFields(rows, schema, '', components, []);
  return rows.slice(0, ROWS_MAX);
}

/** `above`: references on the way here, since schemas such as filters contain themselves. */
function addFields(
  rows: SchemaRow[],
  from: ApiSchema,
  at: string,
  components: Components,
  above: readonly string[],
): void {
  const { $ref } = from;
  if (above.length > LEVELS || rows.length > ROWS_MAX || ($ref !== undefined && above.includes($ref))) return;
  const path = [...above, $ref ?? ''];
  const schema = resolved(from, components);
  if (schema.items !== undefined) addFields(rows, schema.items, `${at}[]`, components, path);
  for (const part of [...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])])
    addFields(rows, part, at, components, path);
  for (const [name, written] of Object.entries(schema.properties ?? {})) {
    const place = at === '' ? name : `${at}.${name}`;
    if (rows.some((row) => row.name === place)) continue;
    const field = resolved(written, components);
    const defaults = field.default === undefined ? '' : ` Default: \`${JSON.stringify(field.default)}\`.`;
    rows.push({
      name: place,
      type: typeOf(written, components),
      isRequired: schema.required?.includes(name) === true,
      meaning: `${field.description ?? ''}${defaults}`.trim(),
    });
    // What repeats itself is explained where it begins.
    if (!isRecursive(written, components)) addFields(rows, written, place, components, path);
  }
}

/** Whether a schema contains a reference to itself. */
function isRecursive({ $ref }: ApiSchema, components: Components): boolean {
  if ($ref === undefined) return false;
  const name = $ref.split('/').at(-1)!;
  return JSON.stringify(components?.schemas?.[name] ?? {}).includes(JSON.stringify($ref));
}

/** Follows a reference; what stands beside it goes first. */
function resolved(schema: ApiSchema, components: Components): ApiSchema {
  if (schema.$ref === undefined) return schema;
  const target = components?.schemas?.[schema.$ref.split('/').at(-1)!] ?? {};
  return { ...target, ...schema, $ref: undefined };
}

/** Returns the type of a schema in words. */
export function typeOf(written: ApiSchema, components: Components, levels = LEVELS): string {
  const schema = resolved(written, components);
  if (schema.enum !== undefined && schema.enum.length <= 6)
    return schema.enum.map((one) => JSON.stringify(one)).join(', ');
  if (schema.items !== undefined)
    return `list of ${levels === 0 ? 'values' : typeOf(schema.items, components, levels - 1)}`;
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined && levels > 0)
    return [...new Set(choices.map((one) => typeOf(one, components, levels - 1)))].join(' or ');
  if (schema.type !== undefined) return [schema.type].flat().join(' or ');
  return schema.properties === undefined && schema.allOf === undefined ? 'any value' : 'object';
}
