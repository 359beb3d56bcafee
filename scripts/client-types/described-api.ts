import type { JsonSchema } from '../../lib/json/schema.ts';
import { LIMITS } from '../../lib/limits.ts';
import { openApiDocument } from '../../services/gateway/openapi/document.ts';

/** A parameter in a path or query. */
export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

interface Operation {
  operationId: string;
  tags: readonly string[];
  summary: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content: Record<string, { schema: JsonSchema }> }>;
}
/** Schemas by the names of their components. */
type Components = Record<string, JsonSchema>;

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Components; parameters: Record<string, Parameter> };
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
  schemas: Components;
  parameters: Record<string, Parameter>;
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
  const [success] = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith('2') ? Object.values(content) : [],
  );
  if (success === undefined) throw new Error('the operation has no success response');
  return success.schema;
}

/** Name of a success response that has no name in the document. */
export const successTypeName = ({ operationId }: RoutedOperation): string =>
  `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Result`;

/** Returns the names of all components that these schemas refer to, directly or indirectly. */
export function referencedComponents(from: JsonSchema[], schemas: Components): Set<string> {
  const found = new Set<string>();
  const queue = from.map((schema) => JSON.stringify(schema));
  for (let text = queue.pop(); text !== undefined; text = queue.pop()) {
    for (const [, name = ''] of text.matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (!found.has(name)) queue.push(JSON.stringify(schemas[name]));
      found.add(name);
    }
  }
  return found;
}

/** Maximum number of records of an upsert. */
export const recordsPerUpsert = (schemas: Components): unknown => schemas.Upsert?.properties?.records?.maxItems;

/** Returns the component that a reference names. Throws if there is none. */
export function componentOf<T>($ref: string, components: Readonly<Record<string, T>>): T {
  const component = components[$ref.slice($ref.lastIndexOf('/') + 1)];
  if (component === undefined) throw new Error(`${$ref} does not exist`);
  return component;
}

/** Returns an operation's parameters in its path or query, with references resolved. */
export const parametersOf = (
  { parameters = [] }: RoutedOperation,
  components: Record<string, Parameter>,
  place: string,
): Parameter[] =>
  parameters
    .map((parameter) => ('$ref' in parameter ? componentOf(parameter.$ref, components) : parameter))
    .filter((parameter) => parameter.in === place);
