import { firstOf } from '../../lib/checked-access.ts';
import type { JsonSchema } from '../../lib/json/schema.ts';

/** Components whose names TypeScript already uses. */
const RENAMED: Readonly<Record<string, string>> = { Error: 'ErrorBody', Record: 'WrittenRecord' };

/** Type of lists of numbers in requests. */
export const REQUEST_NUMBERS = 'Numbers';

/** The TypeScript name of a component. */
export const typeName = (component: string): string => RENAMED[component] ?? component;

/**
 * Converts a JSON Schema of the OpenAPI document to a TypeScript type. `numbers`: the type of
 * number lists. Throws for an unknown kind of schema, so that none silently becomes `unknown`.
 *
 * openapi-typescript 7 does not serve: it drops "exactly one of these fields", its `Filter` rejects
 * `$and` and `$or`, and it has no name for vectors that may be a Float32Array.
 */
export function typeText(schema: JsonSchema, numbers = 'number[]'): string {
  const { $ref, type, enum: values, const: only, oneOf, anyOf, allOf } = schema;
  if (typeof $ref === 'string') return typeName($ref.slice($ref.lastIndexOf('/') + 1));
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (allOf?.length === 1) return typeText(firstOf(allOf), numbers);
  if (schema.properties !== undefined) return objectText(schema, numbers);
  const members = oneOf ?? anyOf;
  if (members !== undefined) return members.map((member) => typeText(member, numbers)).join(' | ');
  if (typeof type === 'object') return type.map((one) => typeText({ ...schema, type: one }, numbers)).join(' | ');
  if (type === 'array') {
    const { items = {} } = schema;
    return items.type === 'number' ? numbers : `Array<${typeText(items, numbers)}>`;
  }
  if (type === 'object') return recordText(schema, numbers);
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  throw new Error(`no type for the schema ${JSON.stringify(schema)}`);
}

/**
 * Free-form JSON is `object` in requests, so that callers can pass a value of an interface type.
 */
function recordText({ additionalProperties: values }: JsonSchema, numbers: string): string {
  if (typeof values === 'object') return `Record<string, ${typeText(values, numbers)}>`;
  return numbers === REQUEST_NUMBERS ? 'object' : 'Record<string, unknown>';
}

function objectText(schema: JsonSchema, numbers: string): string {
  const properties = Object.entries(schema.properties ?? {});
  const { required = [] } = schema;
  const fields = properties.map(([name, property]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${fieldComment(property)}${name}${mark}: ${typeText(property, numbers)};`;
  });
  const [pattern] = Object.values(schema.patternProperties ?? {});
  const others = properties.map(([, property]) => typeText(property, numbers));
  const open =
    pattern && `[field: string]: ${[...new Set([typeText(pattern, numbers), ...others])].join(' | ')} | undefined;`;
  return chosenText(bracedText([...fields, ...(open ? [open] : [])]), properties.length, schema);
}

/** An object type; one without comments stays on one line where it fits. */
export const bracedText = (fields: readonly string[]): string =>
  fields.some((field) => field.startsWith('/**')) ? `{\n${fields.join('\n')}\n}` : `{ ${fields.join(' ')} }`;

/**
 * Wraps an object type that needs exactly one (`oneOf`) or at least one (`anyOf`) of some fields.
 */
function chosenText(whole: string, fields: number, { oneOf, anyOf }: JsonSchema): string {
  const choices = oneOf ?? anyOf;
  if (choices === undefined || fields === 0) return whole;
  const names = choices.map(({ required = [] }) => `'${firstOf(required)}'`).join(' | ');
  return `${oneOf === undefined ? 'AtLeastOne' : 'ExactlyOne'}<${whole}, ${names}>`;
}

/** Describes a field and its default. */
export function fieldComment({ description, default: fallback }: JsonSchema): string {
  const isGiven = fallback !== undefined && fallback !== null;
  const texts = [description, ...(isGiven ? [`Default: \`${JSON.stringify(fallback)}\`.`] : [])];
  const present = texts.filter((text) => text !== undefined);
  return commentText(present.length === 0 ? undefined : present.join(' '));
}

/** A doc comment on one line, with its line end; empty without a description. */
export function commentText(description: unknown): string {
  if (typeof description !== 'string') return '';
  return `/** ${description.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n`;
}
