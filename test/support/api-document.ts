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

/** An OpenAPI 3.1 document, and whether bodies are as it says. */
export class ApiDocument {
  readonly json: Json & { paths: Record<string, Record<string, ApiOperation>>; components: Record<string, Json> };
  /** Every member is known to JSON Schema 2020-12; formats are words to people. */
  readonly #ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true, validateFormats: false });

  constructor(json: unknown) {
    this.json = json as ApiDocument['json'];
  }

  get operations(): { path: string; method: string; operation: ApiOperation }[] {
    return Object.entries(this.json.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    );
  }

  /** What a `$ref` of the document stands for; undefined when there is no such thing. */
  resolve(reference: string): unknown {
    if (!reference.startsWith('#/')) return undefined;
    const names = reference
      .slice(2)
      .split('/')
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    return names.reduce<unknown>((value, name) => (value as Json | undefined)?.[name], this.json);
  }

  /** Every `$ref` in the document. */
  get references(): string[] {
    return [...JSON.stringify(this.json).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference);
  }

  /**
   * Compiles a schema of the document, with undocumented members refused; throws for one that JSON
   * Schema 2020-12 does not know.
   */
  compile(schema: Json): ValidateFunction {
    const self = JSON.stringify({ ...schema, $defs: this.json.components.schemas }, closed);
    return this.#ajv.compile(JSON.parse(self.replaceAll('"$ref":"#/components/schemas/', '"$ref":"#/$defs/')) as Json);
  }

  /** What is wrong with a body by its schema: one line each, none when it is right. */
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
 * Closes the schemas of objects that have named members: what a client meets must be in the
 * document.
 */
function closed(_: string, value: unknown): unknown {
  const isOpen = typeof value === 'object' && value !== null && 'required' in value && 'properties' in value;
  return isOpen ? { additionalProperties: false, ...value } : value;
}
