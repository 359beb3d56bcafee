import { firstOf } from '../../lib/checked-access.ts';
import type { JsonSchema, JsonSchemas } from '../../lib/json/schema.ts';
import { formatNumber, table } from '../markdown.ts';

/** Builds rows for tables of fields, and collects the components that those rows link to. */
export class Fields {
  /** Names of the components that rows link to, in the order of the first link. */
  readonly linked = new Set<string>();
  readonly #components: Readonly<Record<string, JsonSchemas>>;

  constructor(components: Readonly<Record<string, JsonSchemas>>) {
    this.#components = components;
  }

  /**
   * Returns the schema, or the component that it refers to. Throws when the component is missing.
   */
  resolved(schema: JsonSchema): JsonSchema {
    if (schema.$ref === undefined) return schema;
    const [, , kind = '', name = ''] = schema.$ref.split('/');
    const component = this.#components[kind]?.[name];
    if (component === undefined) throw new Error(`${schema.$ref} does not exist`);
    return component;
  }

  /** Returns a table of an object's fields; for a `oneOf`, one table per object. */
  tables(schema: JsonSchema): string[] {
    const { oneOf = [] } = this.resolved(schema);
    const objects = 'properties' in this.resolved(schema) ? [schema] : oneOf;
    const rows = objects.map((each) => this.rows(each)).filter((each) => each.length > 0);
    return rows.map((each) =>
      table(
        ['field', 'type', 'meaning'],
        each.map(([name, type, standing, meaning]) => [name, `${type}${absence(standing)}`, meaning]),
      ),
    );
  }

  /**
   * Returns name, type, default and meaning of each field. Rows of nested objects follow their
   * parent.
   */
  rows(schema: JsonSchema, prefix = ''): [name: string, type: string, standing: string, meaning: string][] {
    const { properties = {}, required = [] } = this.resolved(schema);
    return Object.entries(properties).flatMap(([name, field]) => {
      const isRequired = required.includes(name);
      const row: [string, string, string, string] = [
        `\`${prefix}${name}\``,
        this.type(field),
        fallback(field, isRequired),
        this.#meaning(field),
      ];
      const within = inlineObject(field);
      return within === null ? [row] : [row, ...this.rows(within.schema, `${prefix}${name}${within.suffix}.`)];
    });
  }

  /** Describes a type in words, with its bounds. */
  type(schema: JsonSchema): string {
    const name = referredTo(schema);
    if (name?.startsWith('Filter'))
      return name === 'Filter' ? '[filter](filters.md)' : 'string, number, boolean or null';
    if (name !== null && isOfObjects(this.resolved(schema))) return this.#link(name);
    const {
      enum: values,
      const: constant,
      oneOf,
      items,
      additionalProperties,
      allOf,
      ...plain
    } = this.resolved(schema);
    if (allOf !== undefined) return this.type(firstOf(allOf));
    if (oneOf !== undefined) return oneOf.map((each) => this.type(each)).join(', or ');
    if (constant !== undefined) return `\`${constant}\``;
    if (Array.isArray(values)) return values.map((value) => `\`${value}\``).join(', ');
    if (items !== undefined) return `list of ${countOf(plain)}${this.#items(items)}`;
    const [type, ...others] = [plain.type].flat();
    const isById = typeof additionalProperties === 'object';
    const words = isById ? `object of ${this.type(additionalProperties)}` : `${type}${boundsOf(plain)}`;
    return others.includes('null') ? `${words}, or null` : words;
  }

  #items(schema: JsonSchema): string {
    if (inlineObject({ items: schema }) !== null) return 'objects';
    const type = this.type(schema);
    return schema.enum === undefined ? type.replace(/^(number|string)\b/, '$1s') : `of ${type}`;
  }

  #link(name: string): string {
    this.linked.add(name);
    return `[${name}](#${name.toLowerCase()})`;
  }

  /**
   * Returns a description; a component with its own table is described there, so it gets none here.
   */
  #meaning(schema: JsonSchema): string {
    const resolved = this.resolved(schema);
    const name = referredTo(schema);
    if (name?.startsWith('Filter')) return '';
    return `${schema.description ?? (name !== null && isOfObjects(resolved) ? '' : (resolved.description ?? ''))}`;
  }
}

/** Whether the schema gets its own table. */
const isOfObjects = (schema: JsonSchema): boolean =>
  'properties' in schema || (schema.oneOf?.some((each) => 'properties' in each) ?? false);

function referredTo({ $ref }: JsonSchema): string | null {
  return typeof $ref === 'string' ? $ref.slice($ref.lastIndexOf('/') + 1) : null;
}

/** The object inside a field whose own fields belong in the same table; null when there is none. */
function inlineObject(field: JsonSchema): { schema: JsonSchema; suffix: string } | null {
  if ('properties' in field) return { schema: field, suffix: '' };
  const { items, oneOf = [] } = field;
  const [only, ...others] = oneOf.filter((each) => 'properties' in each);
  if (only !== undefined && others.length === 0) return { schema: only, suffix: '' };
  return items !== undefined && 'properties' in items ? { schema: items, suffix: '[]' } : null;
}

function fallback({ default: value }: JsonSchema, isRequired: boolean): string {
  if (value !== undefined) return `\`${JSON.stringify(value)}\``;
  return isRequired ? 'required' : '';
}

/** Describes what an absent field means. */
function absence(standing: string): string {
  if (standing === 'required') return '';
  return standing === '' ? ', or absent' : `; absent: ${standing}`;
}

function countOf({ minItems = 0, maxItems }: JsonSchema): string {
  if (maxItems !== undefined) return `${formatNumber(minItems)} to ${formatNumber(maxItems)} `;
  return minItems === 0 ? '' : `at least ${minItems} `;
}

function boundsOf(schema: JsonSchema): string {
  const { minimum, maximum, minLength = 0, maxLength, exclusiveMaximum, format } = schema as Record<string, number>;
  if (exclusiveMaximum !== undefined) return ' within float32';
  if (maximum !== undefined) return `, ${minimum} to ${formatNumber(maximum)}`;
  if (minimum !== undefined) return `, at least ${minimum}`;
  if (maxLength !== undefined) return `, ${minLength} to ${formatNumber(maxLength)} characters`;
  return format === undefined ? '' : ` (${format})`;
}
