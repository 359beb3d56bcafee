import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

export type Json = Record<string, unknown>;
type Content = { content?: Record<string, { schema: Json; examples?: Record<string, { value: unknown }> }> };

export interface ApiOperation {
  operationId: string;
  tags: string[];
  security: Json[];
  parameters?: Json[];
  requestBody?: Content;
  responses: Record<string, Content & { description: string }>;
}

/** Name by which compiled schemas refer to the document's components. */
const DOCUMENT = 'document';

/** An OpenAPI 3.1 document that bodies can be validated against. */
export class ApiDocument {
  readonly json: Json & { paths: Record<string, Record<string, ApiOperation>>; components: Record<string, Json> };
  /** Strict JSON Schema 2020-12; formats are only documentation. */
  readonly #ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true, validateFormats: false });

  /** Compiled schemas by their text. */
  readonly #compiled = new Map<string, ValidateFunction>();

  /** Throws if a component is not valid JSON Schema 2020-12. */
  constructor(json: unknown) {
    this.json = Object.assign({ components: {} }, json as ApiDocument['json']);
    this.#ajv.addSchema({ $id: DOCUMENT, $defs: closedSchema(this.json.components.schemas ?? {}) });
  }

  get operations(): { path: string; method: string; operation: ApiOperation }[] {
    return Object.entries(this.json.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    );
  }

  /** Resolves a `$ref` of the document; undefined when it does not exist. */
  resolve(reference: string): unknown {
    if (!reference.startsWith('#/')) return undefined;
    const names = reference
      .slice(2)
      .split('/')
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    return names.reduce<unknown>((value, name) => (value as Json | undefined)?.[name], this.json);
  }

  get references(): string[] {
    return [...JSON.stringify(this.json).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference);
  }

  /**
   * Compiles a schema of the document, without allowing undocumented members. Throws for a schema
   * that is not valid JSON Schema 2020-12.
   */
  compile(schema: Json): ValidateFunction {
    const text = JSON.stringify(schema);
    const compiled = this.#compiled.get(text) ?? this.#ajv.compile(closedSchema(schema));
    this.#compiled.set(text, compiled);
    return compiled;
  }

  /** Returns the violations of a body's schema, one per line; empty for a valid body. */
  faultsOf(content: Content | undefined, body: unknown): string[] {
    const schema = content?.content?.['application/json']?.schema;
    if (schema === undefined) return ['the document has no schema of it'];
    const validate = this.compile(schema);
    return validate(body)
      ? []
      : validate.errors!.map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  }
}

/**
 * Copies a schema. The copy forbids additional properties in objects with named members, because
 * everything that a client meets must be documented; it refers to the components by `DOCUMENT`.
 */
function closedSchema(schema: unknown): Json {
  const text = JSON.stringify(closed(schema));
  return JSON.parse(text.replaceAll('"$ref":"#/components/schemas/', `"$ref":"${DOCUMENT}#/$defs/`)) as Json;
}

/** What a schema excludes stays open: it is excluded with any other members. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, name === 'not' ? member : closed(member)]);
  const copy = Object.fromEntries(members) as Json;
  return 'required' in copy && 'properties' in copy ? { additionalProperties: false, ...copy } : copy;
}
