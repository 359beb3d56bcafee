import { ERROR_TABLE } from '../../../lib/errors.ts';
import { PLAN_NAME_PATTERN } from '../../../lib/plans.ts';
import type { Config } from '../../../process/config.ts';
import { requestNameOf } from '../bodies/decoders.ts';
import { PROVEC } from '../dialect.ts';
import { patternOf } from '../route.ts';
import { routesOf } from '../routes.ts';
import { ACCOUNT_DESCRIPTIONS, ACCOUNT_SCHEMAS } from './accounts.ts';
import { ANCHOR_DESCRIPTIONS, ANCHOR_SCHEMAS } from './anchors.ts';
import { AUDIT_DESCRIPTIONS, AUDIT_SCHEMAS, OPERATOR_AUDIT_DESCRIPTIONS } from './audit.ts';
import { AUDIT_LINK_DESCRIPTIONS, AUDIT_LINK_SCHEMAS } from './audit-links.ts';
import { COLLECTION_DESCRIPTIONS, collectionSchemas } from './collections.ts';
import { withExamples } from './examples/attached.ts';
import { MEMORY_DESCRIPTIONS, MEMORY_SCHEMAS } from './memory.ts';
import { errorResponses, HEADER_COMPONENTS, operationOf, requestSchemas, TAGS } from './operation.ts';
import { OPERATOR_DESCRIPTIONS, OPERATOR_SCHEMAS } from './operator.ts';
import {
  integerSchema,
  listSchema,
  type OpenApiSchema,
  type OpenApiSchemas,
  object,
  ref,
  textSchema,
} from './schema.ts';

const DESCRIPTIONS = {
  ...COLLECTION_DESCRIPTIONS,
  ...ANCHOR_DESCRIPTIONS,
  ...AUDIT_LINK_DESCRIPTIONS,
  ...MEMORY_DESCRIPTIONS,
  ...ACCOUNT_DESCRIPTIONS,
  ...AUDIT_DESCRIPTIONS,
};

const ERROR: OpenApiSchema = object(
  {
    error: textSchema('Says what is wrong and what to do.'),
    code: textSchema('Error code, for programs.', { enum: Object.keys(ERROR_TABLE) }),
    status: integerSchema('HTTP status.'),
    requestId: textSchema('Same as `X-Request-Id`; quote it when asking for help.'),
    details: listSchema(
      object({
        path: textSchema('Path of the field, such as `records[3].values[17]`.'),
        expected: textSchema('What it must be.'),
        got: textSchema('What it is.'),
      }),
    ),
    pricingUrl: textSchema('Only with `PLAN_LIMIT_REACHED`.'),
    statusUrl: textSchema('Only with `INTERNAL`.'),
    retryAfterSeconds: integerSchema('Same as `Retry-After`.'),
  },
  ['details', 'pricingUrl', 'statusUrl', 'retryAfterSeconds'],
);

const content = (description: string, type: string, schema: OpenApiSchema): OpenApiSchema => ({
  description,
  content: { [type]: { schema } },
});
const json = (description: string, schema: OpenApiSchema): OpenApiSchema =>
  content(description, 'application/json', schema);
const page = (operationId: string, summary: string, description: string, responses: OpenApiSchemas): OpenApiSchema => ({
  get: withExamples({
    operationId,
    tags: ['Operations'],
    summary,
    description,
    security: [],
    responses: { ...responses, ...errorResponses(['INVALID_ARGUMENT', 'METHOD_NOT_ALLOWED']) },
  }),
});

const NOT_READY = object(
  {
    status: { type: 'string', enum: ['starting', 'unavailable', 'stopping'] },
    reasons: { ...listSchema({ type: 'string' }), description: "What is wrong; only with the operator's token." },
  },
  ['reasons'],
);

const named = (name: string, description: string): object => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', minLength: 1, maxLength: 1_024 },
});
/** Path parameters that only the operator's routes use. */
const OPERATOR_PARAMETERS: Readonly<Record<string, object>> = {
  Key: named('key', 'Id of the key.'),
  Node: named('node', 'Name of the node.'),
  Plan: { ...named('plan', 'Name of the plan.'), schema: { type: 'string', pattern: PLAN_NAME_PATTERN } },
  Shard: named('shard', '`<collection>.<index>`'),
  Collection: named('collection', 'The collection, by its id or as `<account>/<name>`, percent-encoded.'),
};

/** Paths outside `/api/v1`. They need no key and show no tenant's data. */
const OPERATION_PATHS: OpenApiSchemas = {
  '/': page('about', 'About this service, with links', 'What Provec is, its state, and a first request.', {
    200: content('HTML page.', 'text/html', { type: 'string' }),
  }),
  '/livez': page('livez', 'Liveness', 'Restart a process that does not respond.', {
    200: json('The process runs.', object({ status: textSchema('`live`') })),
  }),
  '/readyz': page('readyz', 'Readiness', 'Send requests only to a service that responds with 200.', {
    200: json('The service is ready.', object({ status: textSchema('`ready`') })),
    503: json('The service is starting or stopping, or cannot serve requests.', NOT_READY),
  }),
  '/metrics': page(
    'metrics',
    'Metrics for Prometheus',
    'Metrics of this process. With a health port, only for the operator here.',
    {
      200: content('Text exposition format.', 'text/plain', { type: 'string' }),
      401: json(
        "There is a health port, and this is not the operator's token.",
        object({ error: textSchema('What to do.') }),
      ),
    },
  ),
  '/openapi.json': page(
    'openapi',
    'This document',
    'Includes the limits of this service. `/pinecone/openapi.json` describes `/pinecone`.',
    {
      200: json('OpenAPI 3.1.', { type: 'object' }),
    },
  ),
};

/**
 * Returns the OpenAPI 3.1 document for a configuration, with its limits, and with the operator's
 * routes only if they exist. Throws if a route has no description.
 */
export function openApiDocument(config: Pick<Config, 'limits' | 'adminToken'>): object {
  const { adminToken, limits } = config;
  const paths: Record<string, Record<string, OpenApiSchema>> = {};
  const routes = routesOf(adminToken !== null);
  for (const route of routes) {
    const path = patternOf(route);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(
      route,
      limits,
      route.access === 'operator' ? { ...OPERATOR_DESCRIPTIONS, ...OPERATOR_AUDIT_DESCRIPTIONS } : DESCRIPTIONS,
    );
  }
  const whole = routes.filter(({ streams }) => streams !== 'request');
  const bodies = new Set(whole.flatMap(({ body }) => (body === null ? [] : [requestNameOf(body)])));
  const tags = Object.entries(TAGS).filter(([name]) => name !== 'Operator' || adminToken !== null);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Provec',
      version: PROVEC.base.slice(PROVEC.base.lastIndexOf('/') + 1),
      summary: 'A vector database that can prove what it stores.',
      description: [
        `Bodies are JSON objects in UTF-8 with at most ${limits.bodyMaxBytes} bytes and ${limits.jsonMaxLevels} levels of nesting; Provec reads a body without a Content-Type as JSON.`,
        'Provec rejects unknown fields and query parameters, and objects with duplicate members. Reads reflect every write acknowledged before them.',
        'Every path also supports OPTIONS, and every GET path HEAD. Unknown paths get `ROUTE_NOT_FOUND`.',
      ].join(' '),
      contact: { name: 'Provec', url: 'https://provec.dev' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    tags: tags.map(([name, description]) => ({ name, description })),
    paths: { ...paths, ...OPERATION_PATHS },
    components: {
      schemas: {
        Error: ERROR,
        ...requestSchemas(limits, bodies),
        ...collectionSchemas(limits),
        ...ANCHOR_SCHEMAS,
        ...AUDIT_LINK_SCHEMAS,
        ...MEMORY_SCHEMAS,
        ...ACCOUNT_SCHEMAS,
        ...AUDIT_SCHEMAS,
        ...(adminToken === null ? {} : OPERATOR_SCHEMAS),
      },
      parameters: {
        CollectionName: { name: 'name', in: 'path', required: true, schema: ref('CollectionName') },
        Alias: { name: 'alias', in: 'path', required: true, schema: ref('CollectionName') },
        Namespace: { name: 'namespace', in: 'path', required: true, schema: ref('Namespace') },
        Token: named('token', 'Token of the audit link.'),
        Id: {
          name: 'id',
          in: 'path',
          required: true,
          description: 'Id as returned by lists.',
          schema: { type: 'string' },
        },
        ...(adminToken === null ? {} : OPERATOR_PARAMETERS),
      },
      headers: HEADER_COMPONENTS,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' },
        ...(adminToken === null
          ? {}
          : { operatorToken: { type: 'http', scheme: 'bearer', description: 'PROVEC_ADMIN_TOKEN of the service.' } }),
      },
    },
  };
}
