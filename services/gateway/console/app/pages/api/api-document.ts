/** The operations of an OpenAPI document, as the API page shows them. */

/** A schema of the document; references are names below `components`. */
export interface ApiSchema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, ApiSchema>>;
  required?: readonly string[];
  items?: ApiSchema;
  enum?: readonly unknown[];
  default?: unknown;
  oneOf?: readonly ApiSchema[];
  anyOf?: readonly ApiSchema[];
  allOf?: readonly ApiSchema[];
  additionalProperties?: ApiSchema | boolean;
}

export interface ApiParameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: ApiSchema;
}

export interface ApiOperation {
  /** Unique in its document. */
  id: string;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description: string;
  parameters: readonly ApiParameter[];
  /** Null if it takes none. `example`: a body to begin with. */
  body: { type: string; schema: ApiSchema; example: string } | null;
  answers: readonly { status: string; description: string; type: string; schema: ApiSchema | null }[];
  /** Which secret it needs. */
  access: 'key' | 'operator' | 'open';
  /** Header of the key: `Authorization` as a bearer token, or its own. */
  keyHeader: string;
  /** Whether it may change something; those ask first. */
  isChange: boolean;
}

interface Content {
  schema?: ApiSchema;
  examples?: Readonly<Record<string, { value?: unknown }>>;
}
interface WrittenOperation {
  operationId?: string;
  tags?: readonly string[];
  summary?: string;
  description?: string;
  security?: readonly Readonly<Record<string, unknown>>[];
  parameters?: readonly (ApiParameter & { $ref?: string })[];
  requestBody?: { content?: Readonly<Record<string, Content>> };
  responses?: Readonly<Record<string, { description?: string; content?: Readonly<Record<string, Content>> }>>;
}
/** What the page reads of a document. */
export interface WrittenDocument {
  paths?: Readonly<Record<string, Readonly<Record<string, WrittenOperation>>>>;
  components?: {
    schemas?: Readonly<Record<string, ApiSchema>>;
    parameters?: Readonly<Record<string, ApiParameter>>;
    securitySchemes?: Readonly<Record<string, { type?: string; name?: string }>>;
  };
}

/** What a description says of every operation that only reads. */
const READS = 'Needs the scope `read`';

/** Returns the operations of a document in its order. */
export function operationsOf(document: WrittenDocument): ApiOperation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, written]) => operationOf(document, method.toUpperCase(), path, written)),
  );
}

function operationOf(
  { components = {} }: WrittenDocument,
  method: string,
  path: string,
  written: WrittenOperation,
): ApiOperation {
  const { description = '', security = [], parameters = [] } = written;
  const scheme = Object.keys(security[0] ?? {})[0];
  const { type, name = 'Authorization' } = components.securitySchemes?.[scheme ?? ''] ?? {};
  const [body] = Object.entries(written.requestBody?.content ?? {});
  return {
    id: written.operationId ?? `${method} ${path}`,
    method,
    path,
    tag: written.tags?.[0] ?? 'Other',
    summary: written.summary ?? '',
    description,
    parameters: parameters.map((one) =>
      one.$ref === undefined ? one : (components.parameters?.[one.$ref.split('/').at(-1)!] ?? one),
    ),
    body:
      body === undefined ? null : { type: body[0], schema: body[1].schema ?? {}, example: exampleIn(body[1], body[0]) },
    answers: Object.entries(written.responses ?? {}).map(([status, answer]) => {
      const [first] = Object.entries(answer.content ?? {});
      return {
        status,
        description: answer.description ?? '',
        type: first?.[0] ?? '',
        schema: first?.[1].schema ?? null,
      };
    }),
    access: scheme === undefined ? 'open' : scheme === 'operatorToken' ? 'operator' : 'key',
    keyHeader: type === 'apiKey' ? name : 'Authorization',
    isChange: method !== 'GET' && !description.includes(READS),
  };
}

/** Returns the first example of a body as text. */
function exampleIn({ examples = {} }: Content, type: string): string {
  const value = Object.values(examples)[0]?.value;
  if (value === undefined) return type.endsWith('json') && !type.includes('ndjson') ? '{}' : '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** Returns the operations that have every word of a query, the best first. */
export function searchOperations(operations: readonly ApiOperation[], query: string): ApiOperation[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...operations];
  const scored = operations.map((operation) => {
    const { method, path, id, summary, description, tag, parameters } = operation;
    const names = [method, path, id].join(' ').toLowerCase();
    const title = `${summary} ${tag}`.toLowerCase();
    const rest =
      `${description} ${parameters.map((one) => `${one.name} ${one.description ?? ''}`).join(' ')}`.toLowerCase();
    const scores = words.map((word) =>
      names.includes(word) ? 4 : title.includes(word) ? 3 : rest.includes(word) ? 1 : 0,
    );
    return { operation, score: scores.includes(0) ? 0 : scores.reduce<number>((sum, one) => sum + one, 0) };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .map(({ operation }) => operation);
}
