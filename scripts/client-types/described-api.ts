import type { JsonSchema } from '../../lib/json/schema.ts';
import { LIMITS } from '../../lib/limits.ts';
import { openApiDocument } from '../../services/gateway/openapi/document.ts';

interface Operation {
  operationId: string;
  summary: string;
  parameters?: JsonSchema[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content: Record<string, { schema: JsonSchema }> }>;
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: Record<'schemas' | 'parameters', Record<string, JsonSchema>>;
}

/** An operation with its method and path. */
export interface RoutedOperation extends Operation {
  method: string;
  path: string;
}

export const BASE = '/api/v1';
export const JSON_MEDIA_TYPE = 'application/json';

/** Reads the OpenAPI document of `/api/v1`, including the operator's routes. */
export function describedApi(): {
  called: RoutedOperation[];
  schemas: Record<string, JsonSchema>;
  parameters: Record<string, JsonSchema>;
} {
  const { paths, components } = openApiDocument({ limits: LIMITS, adminToken: 'any' }) as Description;
  const called = Object.entries(paths)
    .filter(([path]) => path.startsWith(BASE))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
  return { called, ...components };
}

/** Returns the schema of the success response. */
export function successSchemaOf({ responses }: RoutedOperation): JsonSchema {
  const [, { content }] = Object.entries(responses).find(([status]) => status.startsWith('2'))!;
  return Object.values(content)[0]!.schema;
}

/** Name of a success response that has no name in the document. */
export const successTypeName = ({ operationId }: RoutedOperation): string =>
  `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Result`;

/** Returns the names of all components that these schemas refer to, directly or indirectly. */
export function referencedComponents(from: JsonSchema[], schemas: Record<string, JsonSchema>): Set<string> {
  const found = new Set<string>();
  const queue = from.map((schema) => JSON.stringify(schema));
  for (let text = queue.pop(); text !== undefined; text = queue.pop()) {
    for (const [, name] of text.matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (!found.has(name!)) queue.push(JSON.stringify(schemas[name!]));
      found.add(name!);
    }
  }
  return found;
}

/** Maximum number of records of an upsert. */
export const recordsPerUpsert = (schemas: Record<string, JsonSchema>): unknown =>
  (schemas.Upsert!.properties as Record<string, JsonSchema>).records!.maxItems;

export type Components = Record<string, JsonSchema>;

/** Returns an operation's parameters in its path or query, with references resolved. */
export const parametersOf = (
  { parameters = [] }: RoutedOperation,
  components: Components,
  place: string,
): JsonSchema[] =>
  parameters
    .map(({ $ref, ...own }) => (typeof $ref === 'string' ? components[$ref.slice($ref.lastIndexOf('/') + 1)]! : own))
    .filter((parameter) => parameter.in === place);
