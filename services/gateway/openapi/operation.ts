import { AUDIT_PAGE_MAX } from '../../../contracts/actions/audit.ts';
import type { ActionName } from '../../../contracts/actions/call.ts';
import { TABLE_PAGE } from '../../../contracts/actions/cluster.ts';
import { LISTING_CURSOR_MAX_CHARS } from '../../../contracts/requests/listing-cursor.ts';
import { CURSOR_MAX_CHARS } from '../../../contracts/requests/page-cursor.ts';
import { type RequestName, requestsOf } from '../../../contracts/requests/requests.ts';
import { ERROR_TABLE, type ErrorCode } from '../../../lib/errors.ts';
import type { Limits } from '../../../lib/limits.ts';
import { KEPT_DAYS } from '../../../store/usage.ts';
import { USAGE_DAYS_DEFAULT } from '../page-query.ts';
import { NDJSON_TYPE } from '../responses/sender.ts';
import type { Route } from '../route.ts';
import { withExamples } from './examples/attached.ts';
import { type OpenApiParameters, type OpenApiSchema, type OpenApiSchemas, ref } from './schema.ts';

/** Descriptions of operations by action: what neither the route nor its request schema contains. */
export type Descriptions = {
  readonly [A in ActionName]?: readonly [id: string, summary: string, answer: OpenApiSchema, description?: string];
};

/** Operators' actions that name a collection, with or without its account. */
const REFERENCES = ['cluster.shards', 'cluster.move', 'cluster.resume', 'cluster.ledger'] as const;
const QUERIES = ['collections.query', 'collections.queries'] as const;

/** Errors beyond those that every request of a kind can get, in the order of the document. */
const ERRORS: { readonly [C in ErrorCode]?: readonly ActionName[] } = {
  DIMENSION_MISMATCH: ['collections.upsert', 'collections.import', ...QUERIES, 'collections.updateRecords'],
  INVALID_FILTER: [
    ...QUERIES,
    'collections.count',
    'collections.facets',
    'collections.listRecords',
    'collections.updateRecords',
    'collections.delete',
  ],
  RECORD_NOT_FOUND: QUERIES,
  NAMESPACE_NOT_FOUND: ['collections.deleteNamespace'],
  COLLECTION_NOT_FOUND: ['collections.putAlias', ...REFERENCES],
  ALIAS_NOT_FOUND: ['collections.getAlias', 'collections.deleteAlias'],
  VERIFICATION_NOT_FOUND: ['verification.get'],
  AUDIT_LINK_NOT_FOUND: ['collections.auditView', 'collections.revokeAuditLink'],
  KEY_NOT_FOUND: ['keys.revoke'],
  ACCOUNT_NOT_FOUND: REFERENCES,
  PLAN_NOT_FOUND: ['keys.deletePlan', 'keys.setPlan', 'keys.createAccount'],
  COLLECTION_EXISTS: ['collections.create', 'collections.putAlias'],
  ALIAS_EXISTS: ['collections.create'],
  NAME_IS_ALIAS: ['collections.putAlias', 'collections.remove'],
  COLLECTION_HAS_ALIAS: ['collections.remove'],
  ALIAS_LIMIT_REACHED: ['collections.putAlias'],
  PLAN_IN_USE: ['keys.deletePlan'],
  PLANS_LIMIT_REACHED: ['keys.putPlan'],
  AUDIT_LINK_LIMIT_REACHED: ['collections.createAuditLink'],
  LAST_KEY: ['keys.revoke'],
  PLAN_LIMIT_REACHED: [
    'collections.create',
    'collections.upsert',
    'collections.import',
    'collections.updateRecords',
    ...QUERIES,
    'collections.facets',
    'keys.create',
  ],
  SHARD_UNAVAILABLE: ['verification.verify', 'collections.proof'],
};
const ALWAYS = ['INVALID_ARGUMENT', 'METHOD_NOT_ALLOWED', 'INTERNAL', 'UNAVAILABLE'] as const;
const WITH_BODY = ['INVALID_JSON', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'REQUEST_TIMEOUT'] as const;

const JSON_TYPE = 'application/json';

export const HEADER_COMPONENTS: OpenApiSchemas = {
  RequestId: {
    description: "The request's X-Request-Id if it matches `^[A-Za-z0-9._:-]{1,128}$`, else a new one.",
    schema: { type: 'string' },
  },
  RetryAfter: { description: 'Seconds.', schema: { type: 'integer', minimum: 1 } },
};
const header = (name: string): OpenApiSchema => ({ $ref: `#/components/headers/${name}` });
const REQUEST_ID: OpenApiSchemas = { 'X-Request-Id': header('RequestId') };
const RETRY_AFTER: OpenApiSchemas = { 'Retry-After': header('RetryAfter') };
/** Response headers by status, in addition to the request id. */
export const HEADERS: Readonly<Record<number, OpenApiSchemas>> = {
  401: { 'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string', const: 'Bearer' } } },
  405: { Allow: { description: 'Methods that the path supports.', schema: { type: 'string' } } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};
/** Descriptions of `Location` by status. */
const LOCATIONS: Readonly<Record<number, string>> = {
  201: 'Path of the created resource.',
  202: 'Path to poll for the result.',
};
/** A null schema describes an empty body. */
export const response = (
  description: string,
  schema: OpenApiSchema | null,
  headers: OpenApiSchemas = {},
  type = JSON_TYPE,
): OpenApiSchema => ({
  description,
  headers: { ...REQUEST_ID, ...headers },
  ...(schema && { content: { [type]: { schema } } }),
});

export function errorResponses(
  codes: Iterable<ErrorCode>,
  statusOf = (code: ErrorCode): number => ERROR_TABLE[code].status,
  meaningOf = (code: ErrorCode) => `\`${code}\`: ${ERROR_TABLE[code].when}`,
  headers = HEADERS,
): OpenApiSchemas {
  const responses = [...Map.groupBy(codes, statusOf)].map(([status, ofStatus]) => {
    const meanings = new Set(ofStatus.map(meaningOf));
    return [status, response([...meanings].join('\n\n'), ref('Error'), headers[status])];
  });
  return Object.fromEntries(responses);
}

export function errorsOf({ access, action, body, method, path, mayBeAway }: Route): ReadonlySet<ErrorCode> {
  return new Set<ErrorCode>([
    ...ALWAYS,
    'RATE_LIMITED',
    ...(access === 'link' ? [] : (['UNAUTHENTICATED'] as const)),
    ...(access === 'operator' || access === 'link' ? [] : (['FORBIDDEN'] as const)),
    ...(access === 'read' || method === 'GET' ? [] : (['OUT_OF_CAPACITY'] as const)),
    ...(body === null ? [] : WITH_BODY),
    ...(path.includes('{name}') ? (['COLLECTION_NOT_FOUND'] as const) : []),
    ...(path.includes('/accounts/{id}') ? (['ACCOUNT_NOT_FOUND'] as const) : []),
    ...(mayBeAway ? (['SHARD_UNAVAILABLE'] as const) : []),
    ...(Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code]?.includes(action)),
  ]);
}

/** Maximum lengths of cursors that are longer than others. */
const CURSOR_CHARS: { [A in ActionName]?: number } = { 'collections.namespaces': LISTING_CURSOR_MAX_CHARS };
/** Components of the path parameters, by name. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  name: 'CollectionName',
  alias: 'Alias',
  id: 'Id',
  namespace: 'Namespace',
  token: 'Token',
  key: 'Key',
  node: 'Node',
  plan: 'Plan',
  shard: 'Shard',
  collection: 'Collection',
};

/** Bounds of a `limit` whose default is its maximum. */
const ofFullPage = (maximum: number): OpenApiSchema => ({ maximum, default: maximum });

function parametersOf(route: Route, limits: Limits): object[] {
  const [target, namespace] = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const isProofAsWell = route.whenGiven.id !== undefined;
  const pages: { [A in ActionName]?: OpenApiSchema } = {
    'collections.list': ofFullPage(limits.collectionsPageMax),
    'collections.aliasesPage': ofFullPage(limits.aliasesPageMax),
    'keys.page': ofFullPage(limits.keysPageMax),
    'keys.auditPage': ofFullPage(AUDIT_PAGE_MAX),
    'keys.accountsPage': ofFullPage(limits.accountsPageMax),
    'collections.namespaces': { maximum: limits.namespacesPageMax, default: limits.namespacesPageDefault },
    'collections.anchors': { maximum: limits.anchorsPageMax, default: limits.anchorsPageDefault },
    'collections.auditView': { maximum: limits.anchorsPageMax, default: limits.anchorsPageDefault },
    'cluster.shards': TABLE_PAGE,
    'cluster.collections': TABLE_PAGE,
    'cluster.anchors': TABLE_PAGE,
    'cluster.verifications': TABLE_PAGE,
    'cluster.backups': TABLE_PAGE,
  };
  const query: OpenApiParameters = {
    limit: {
      description: 'Maximum number of items on the page.',
      schema: { type: 'integer', minimum: 1, ...pages[route.action] },
    },
    cursor: {
      description: '`nextCursor` of the previous page.',
      schema: { type: 'string', minLength: 1, maxLength: CURSOR_CHARS[route.action] ?? CURSOR_MAX_CHARS },
    },
    days: {
      description: 'Number of days, today included.',
      schema: { type: 'integer', minimum: 1, maximum: KEPT_DAYS, default: USAGE_DAYS_DEFAULT },
    },
    usage: {
      description: 'Whether to add the usage of each account.',
      schema: { type: 'boolean', default: false },
    },
    collection: {
      description:
        route.action === 'cluster.ledger' ? 'Collection whose account to add.' : 'Only shards of this collection.',
      schema: { type: 'string', minLength: 1, maxLength: 1_024 },
    },
    account: {
      description: "Account whose keys' changes to list, instead of the operator's.",
      schema: { type: 'string', minLength: 1, maxLength: 64 },
    },
    state: { description: 'Only anchors in this state.', schema: { type: 'string', enum: ['pending', 'halted'] } },
    prefix: { description: 'Only names with this prefix.', schema: ref('Namespace') },
    namespace: { description: 'Namespace of the record to prove.', schema: ref('Namespace') },
    id: {
      required: !isProofAsWell,
      description: isProofAsWell ? 'Return a proof for this record, like `/proof`.' : 'Record to prove.',
      schema: ref('RecordId'),
    },
  };
  const inQuery = route.query.map((name) => ({ name, in: 'query', ...query[name] }));
  const inPath = [target, namespace].filter((name) => name !== undefined);
  return [...inPath.map((name) => ({ $ref: `#/components/parameters/${PATH_PARAMETERS[name]}` })), ...inQuery];
}

/** Tags in the order of the document. Every operation has one. */
export const TAGS = {
  Collections: 'Named sets of records with vectors of one length, compared by one metric.',
  Aliases: 'Alternative names of collections, which can be switched to another collection atomically.',
  Records: 'Write, search, count and delete the records of a collection.',
  Verification: 'Check a collection without trusting the service: roots, proofs, anchors.',
  Usage: "The account's counts this month, and the limits of its plan.",
  Keys: "The account's API keys.",
  Audit: "Who changed the account's keys, collections and aliases, and when.",
  Operator: 'Accounts, keys, nodes, shards, anchors and the ledger, for the holder of the operator token.',
  Operations: "For monitors, orchestrators and tools. They need no key, and return no account's data.",
} as const satisfies Readonly<Record<string, string>>;
type Tag = keyof typeof TAGS;

/** Actions tagged Verification. */
const PROVING: readonly ActionName[] = [
  'verification.verify',
  'verification.begin',
  'verification.get',
  'collections.proof',
  'collections.anchors',
  'collections.createAuditLink',
  'collections.auditLinks',
  'collections.revokeAuditLink',
  'collections.auditView',
];
/** Tags of other routes, by the first part of their paths. */
const AREAS: Readonly<Record<string, Tag>> = {
  collections: 'Collections',
  aliases: 'Aliases',
  usage: 'Usage',
  keys: 'Keys',
  audit: 'Audit',
};

function tagOf({ access, action, path }: Route): Tag {
  if (access === 'operator') return 'Operator';
  if (PROVING.includes(action)) return 'Verification';
  const [, area = '', target, what] = path.split('/');
  const isOfRecords = target === '{name}' && what !== undefined && what !== 'memory';
  const tag = isOfRecords ? 'Records' : AREAS[area];
  if (tag === undefined) throw new Error(`no tag for ${path}`);
  return tag;
}

const capitalized = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** Returns the schemas of request bodies by component name, derived from the request decoders. */
export function requestSchemas(limits: Limits, names: Iterable<RequestName>): OpenApiSchemas {
  const requests = requestsOf(limits);
  return Object.fromEntries([...names].map((name) => [capitalized(name), requests[name].schema]));
}

function locationOf({ location }: Route, status: number): OpenApiSchemas {
  const description = location && LOCATIONS[status];
  return description ? { Location: { description, schema: { type: 'string' } } } : {};
}

/** What other callers than keys need. */
const NEEDS: { readonly [A in Route['access']]?: string } = {
  operator: 'Needs the operator token.',
  link: 'Needs no key: the token is enough.',
};

function securityOf({ access }: Route): object[] {
  if (access === 'link') return [];
  return [access === 'operator' ? { operatorToken: [] } : { apiKey: [] }];
}

/** Returns the operation object of a route. Throws if the route has no description. */
export function operationOf(route: Route, limits: Limits, allWords: Descriptions): OpenApiSchema {
  const words = allWords[route.action];
  if (words === undefined) throw new Error(`no description of ${route.action}`);
  const [operationId, summary, answer, description] = words;
  const needs = NEEDS[route.access] ?? `Needs the scope \`${route.access}\`.`;
  const parameters = parametersOf(route, limits);
  const body =
    route.streams === 'request'
      ? { [NDJSON_TYPE]: { schema: ref('ExportLine') } }
      : route.body && { 'application/json': { schema: ref(capitalized(route.body)) } };
  return withExamples({
    operationId,
    tags: [tagOf(route)],
    summary,
    description: description === undefined ? needs : `${description}\n\n${needs}`,
    security: securityOf(route),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: body } }),
    responses: {
      ...(route.made && { 201: response('Created.', answer, locationOf(route, 201)) }),
      [route.status]: response(
        'Done.',
        answer,
        locationOf(route, route.status),
        route.streams === 'response' ? NDJSON_TYPE : undefined,
      ),
      ...errorResponses(errorsOf(route)),
    },
  });
}
