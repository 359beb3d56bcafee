import { ERROR_TABLE, type ErrorCode } from '../../../../lib/errors.ts';
import { filterSchemas } from '../../../../lib/filter/filter-schema.ts';
import type { Limits } from '../../../../lib/limits.ts';
import type { Config } from '../../../../process/config.ts';
import { errorResponses, errorsOf, HEADER_COMPONENTS, HEADERS, response } from '../../openapi/operation.ts';
import { type OpenApiSchema, type OpenApiSchemas, ref } from '../../openapi/schema.ts';
import { patternOf, type Route } from '../../route.ts';
import { PINECONE, statusOf } from '../dialect.ts';
import { PINECONE_ROUTES } from '../routes.ts';
import { answerSchemas } from './answers.ts';
import { PINECONE_DESCRIPTIONS } from './descriptions.ts';
import { bodySchemas, isOptional, type PineconeBody, queryParametersOf, vectorSchema } from './requests.ts';

export const PINECONE_DOCUMENT_PATH = `${PINECONE.base}/openapi.json`;

const TAGS = {
  Vectors: 'Write, search and delete the vectors of an index.',
  Indexes: 'An index is the collection with the same name.',
  Namespaces: 'Parts of an index.',
  Operations: 'For tools. They need no key.',
};

/** Operations that require an existing namespace. */
const IN_NAMESPACE = ['describe_namespace', 'delete_vectors'];
const MEANINGS: { readonly [C in ErrorCode]?: string } = {
  UNAUTHENTICATED: 'The header `Api-Key` is absent, or its key is unknown, revoked or expired.',
};

const ABSENT_FIELD = 'A record without the field matches only `$exists: false`, not `$ne` or `$nin`.';

const refusals = (codes: Iterable<ErrorCode>): OpenApiSchemas =>
  errorResponses(codes, statusOf, (code) => MEANINGS[code] ?? ERROR_TABLE[code].when, { ...HEADERS, 401: {} });

/** `pinecone/query` becomes `QueryRequest`. */
const componentOf = (body: string): string =>
  body.replace(/^pinecone\/(.)(.*)$/, (_, first: string, rest: string) => `${first.toUpperCase()}${rest}Request`);

function errorCodesOf(route: Route, operationId: string): Set<ErrorCode> {
  const codes = new Set(errorsOf(route));
  // A query near an unknown record returns no matches instead.
  codes.delete('RECORD_NOT_FOUND');
  if (IN_NAMESPACE.includes(operationId)) codes.add('NAMESPACE_NOT_FOUND');
  return codes;
}

function inputOf({ body, path, query }: Route, limits: Limits, bodies: OpenApiSchemas): OpenApiSchema {
  const known = queryParametersOf(path, limits);
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    $ref: `#/components/parameters/${name === 'name' ? 'IndexName' : 'Namespace'}`,
  }));
  const parameters = [...inPath, ...query.map((name) => ({ name, in: 'query', ...known[name] }))];
  const content = body && { 'application/json': { schema: ref(componentOf(body)) } };
  return {
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !isOptional(bodies[body] ?? {}), content } }),
  };
}

/** Throws if the route has no description. */
function operationOf(
  route: Route,
  limits: Limits,
  bodies: Readonly<Record<PineconeBody, OpenApiSchema>>,
): OpenApiSchema {
  const name = `${route.method} ${route.path}`;
  const [found] = Object.entries(PINECONE_DESCRIPTIONS).flatMap(([tag, ofTag]) => {
    const words = ofTag[name];
    return words === undefined ? [] : [{ tag, words }];
  });
  if (found === undefined) throw new Error(`no description of ${name} below ${PINECONE.base}`);
  const { tag, words } = found;
  const [operationId, summary, answer, description] = words;
  const needs = `Needs the scope \`${route.access}\`.`;
  return {
    operationId,
    tags: [tag],
    summary,
    description: description === undefined ? needs : `${description}\n\n${needs}`,
    security: [{ apiKey: [] }],
    ...inputOf(route, limits, bodies),
    responses: { [route.status]: response('Done.', answer), ...refusals(errorCodesOf(route, operationId)) },
  };
}

const PAGE: OpenApiSchema = {
  operationId: 'openapi',
  tags: ['Operations'],
  summary: 'This document',
  description: 'Includes the limits of this service.',
  security: [],
  responses: {
    200: response('OpenAPI 3.1.', { type: 'object' }),
    ...refusals(['INVALID_ARGUMENT', 'METHOD_NOT_ALLOWED']),
  },
};

/**
 * Returns the OpenAPI 3.1 document of `/pinecone`, with the limits of this configuration. Throws if
 * a route has no description.
 */
export function pineconeDocument({ limits }: Pick<Config, 'limits'>): object {
  const bodies = bodySchemas(limits);
  const paths: Record<string, Record<string, OpenApiSchema>> = {};
  for (const route of PINECONE_ROUTES) {
    const path = patternOf(route);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(route, limits, bodies);
  }
  const inPath = (name: string, schema: string) => ({ name, in: 'path', required: true, schema: ref(schema) });
  return {
    openapi: '3.1.0',
    info: {
      title: "Provec, for Pinecone's clients",
      version: 'v1',
      summary: "The part of Pinecone's API that Provec supports.",
      description: [
        `Bodies are JSON objects in UTF-8 with at most ${limits.bodyMaxBytes} bytes and ${limits.jsonMaxLevels} levels of nesting.`,
        'A null counts as an absent field; an object with duplicate members is refused. Provec ignores unknown fields and query parameters, and the version in `X-Pinecone-Api-Version`, but refuses an unknown name within two edits of a known one.',
        'Features that Provec does not have (embedding, imports, backups, documents) are not listed; Provec responds with 501.',
      ].join(' '),
      contact: { name: 'Provec', url: 'https://provec.dev' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: { ...paths, [PINECONE_DOCUMENT_PATH]: { get: PAGE } },
    components: {
      schemas: {
        ...answerSchemas(limits),
        ...filterSchemas(limits, ABSENT_FIELD),
        Vector: vectorSchema(limits),
        ...Object.fromEntries(Object.entries(bodies).map(([body, schema]) => [componentOf(body), schema])),
      },
      parameters: { IndexName: inPath('name', 'IndexName'), Namespace: inPath('namespace', 'Namespace') },
      headers: HEADER_COMPONENTS,
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'Api-Key', description: 'An API key of the account.' },
      },
    },
  };
}
