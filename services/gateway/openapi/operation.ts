import { ERROR_TABLE, type ErrorCode } from '../../../lib/errors.ts';
import type { Limits } from '../../../lib/limits.ts';
import { type RequestName, requestsOf } from '../../../lib/requests/requests.ts';
import { BASE_PATH, type Route } from '../routes.ts';
import { ref, type Schema, type Schemas } from './schema.ts';

/** What the document says of one route, beside what the route itself says. */
export interface RouteText {
  /** `GET /collections/{name}`, as in the route table. */
  route: string;
  id: string;
  summary: string;
  description?: string;
  tag: string;
  parameters?: readonly Schema[];
  response: Schema;
  /** Of the action, beyond those that every request can get. */
  errors: readonly ErrorCode[];
}

const ALWAYS: readonly ErrorCode[] = [
  'INVALID_ARGUMENT',
  'UNAUTHENTICATED',
  'METHOD_NOT_ALLOWED',
  'INTERNAL',
  'UNAVAILABLE',
];
const WITH_KEY: readonly ErrorCode[] = ['FORBIDDEN', 'RATE_LIMITED'];
const WRITING: readonly ErrorCode[] = ['OUT_OF_CAPACITY'];
const WITH_BODY: readonly ErrorCode[] = ['INVALID_JSON', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'REQUEST_TIMEOUT'];

const REQUEST_ID_HEADER = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } };
const RETRY_STATUSES = new Set([429, 503]);

function errorResponses(codes: readonly ErrorCode[]): Record<string, Schema> {
  const byStatus = Map.groupBy([...new Set(codes)], (code) => ERROR_TABLE[code].status);
  const responses: Record<string, Schema> = {};
  for (const status of [...byStatus.keys()].sort((a, b) => a - b)) {
    const meanings = byStatus.get(status)!.map((code) => `\`${code}\`: ${ERROR_TABLE[code].when}`);
    responses[status] = {
      description: meanings.join('\n\n'),
      headers: {
        ...REQUEST_ID_HEADER,
        ...(RETRY_STATUSES.has(status) ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } : {}),
        ...(status === 405 ? { Allow: { description: 'Methods of the path.', schema: { type: 'string' } } } : {}),
        ...(status === 401
          ? { 'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string', const: 'Bearer' } } }
          : {}),
      },
      content: { 'application/json': { schema: ref('Error') } },
    };
  }
  return responses;
}

/** Path parameters of a route, from its pattern. */
function pathParameters(route: Route): Schema[] {
  const name = /\{(\w+)\}/.exec(route.path)?.[1];
  return name === undefined ? [] : [{ $ref: `#/components/parameters/${name === 'name' ? 'CollectionName' : 'Id'}` }];
}

const componentOf = (name: RequestName): string => `${name[0].toUpperCase()}${name.slice(1)}`;
const requestRef = (name: RequestName): Schema => ref(componentOf(name));

/** The bodies of requests, by the names of their components: made from what checks them. */
export function requestSchemas(limits: Limits, names: Iterable<RequestName>): Schemas {
  const requests = requestsOf(limits);
  return Object.fromEntries([...names].map((name) => [componentOf(name), requests[name].schema]));
}

/** The operation object of a route. */
export function operationOf(route: Route, words: RouteText): Schema {
  const codes = [
    ...ALWAYS,
    ...(route.access === 'operator' ? [] : WITH_KEY),
    ...(route.access === 'read' ? [] : WRITING),
    ...(route.body === null ? [] : WITH_BODY),
    ...(route.path.includes('{name}') ? (['COLLECTION_NOT_FOUND'] as const) : []),
    ...(route.mayBeAway ? (['SHARD_UNAVAILABLE'] as const) : []),
    ...words.errors,
  ];
  const parameters = [...pathParameters(route), ...(words.parameters ?? [])];
  return {
    operationId: words.id,
    tags: [words.tag],
    summary: words.summary,
    description: [
      words.description,
      route.access === 'operator' ? 'Needs the operator token.' : `Needs the scope \`${route.access}\`.`,
    ]
      .filter((part) => part !== undefined)
      .join('\n\n'),
    security: [route.access === 'operator' ? { operatorToken: [] } : { apiKey: [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body === null
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: requestRef(route.body) } } } }),
    responses: {
      [route.status]: {
        description: 'Done.',
        headers: REQUEST_ID_HEADER,
        content: { 'application/json': { schema: words.response } },
      },
      ...errorResponses(codes),
    },
  };
}

/** Where the document has a route. */
export const documentPath = (route: Route): string => BASE_PATH + route.path;
