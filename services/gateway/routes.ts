import { recordBytes, vectorBytes } from '../../lib/admission/answer-size.ts';
import { itemAt } from '../../lib/checked-access.ts';
import { invalidValue } from '../../lib/records/fields.ts';
import { decodeId, decodeNamespace } from '../../lib/records/ids.ts';
import { PROVEC } from './dialect.ts';
import { OPERATOR_ROUTES } from './operator-routes.ts';
import {
  bodyFetchWidth,
  deleteWidth,
  headsWidth,
  LIST_WIDTH,
  namesWidth,
  recordsWidth,
  scanWidth,
  updateWidth,
} from './overload/queues.ts';
import { auditPageOf, daysOf, fullPageOf, limitedPageOf } from './page-query.ts';
import { updateForKey } from './record-update.ts';
import { facetsJson, recordsJson, resultJson, resultsJson, vectorsJson } from './responses/json-pieces.ts';
import {
  bodyParams,
  collectionParams,
  type Route,
  type RouteInput,
  routesBelow,
  UNDECODABLE,
  VERIFY_TIMEOUT_MS,
} from './route.ts';
import { warningsOf, withWarnings } from './warnings.ts';

const route = routesBelow(PROVEC);

function namespaceOf({ item, limits }: RouteInput): string {
  if (item === UNDECODABLE)
    throw invalidValue('namespace', 'percent-encoded UTF-8 without U+0000', 'bytes that are not');
  return decodeNamespace(item, 'namespace', limits);
}

const PROOF = route('GET', '/collections/{name}/proof', 'collections.proof', 'read', {
  needsCollection: true,
  width: headsWidth,
  query: ['id', 'namespace'],
  params: ({ accountId, target, query, limits }) => ({
    ...collectionParams({ accountId, target }),
    id: decodeId(query.get('id'), 'id', limits),
    namespace: decodeNamespace(query.get('namespace') ?? '', 'namespace', limits),
  }),
  answer: (proof) => ({ proof }),
});

/** Parameters with the body, for responses that warn of fields that no record has. */
const bodyParamsWithFields = <B>(input: RouteInput & { body: B }) => ({
  ...bodyParams(input),
  wantsAbsentFields: true,
});

const VECTOR_ROUTES = [
  route('POST', '/collections/{name}/query', 'collections.query', 'read', {
    mayBeAway: true,
    queue: 'query',
    width: (shards, body) => recordsWidth(shards, body?.topK),
    body: 'query',
    params: bodyParamsWithFields,
    answer: (result, input) => resultJson(result, warningsOf(result, input)),
    expectedBytes: ({ body }, dimensions) => (body.includeValues ? vectorBytes(body.topK, dimensions) : 0),
    metadataMax: ({ body }) => (body.includeMetadata ? body.topK : 0),
    heldBytes: ({ matches }) => recordBytes(matches),
    countedQueries: () => 1,
  }),
  route('POST', '/collections/{name}/queries', 'collections.queries', 'read', {
    mayBeAway: true,
    queue: 'query',
    width: (shards, body) =>
      recordsWidth(
        shards,
        body?.queries.reduce((sum, { topK }) => sum + topK, 0),
      ),
    body: 'queries',
    params: bodyParamsWithFields,
    answer: (given, { body, mayRead }) => {
      const { queries, roundedInteger } = body;
      const warned = given.results.map((result, at) => {
        const { filter, namespace } = itemAt(queries, at);
        return warningsOf(result, { body: { namespace, ...(filter !== undefined && { roundedInteger }) }, mayRead });
      });
      return resultsJson(given, warned);
    },
    expectedBytes: ({ body }, dimensions) =>
      body.queries.reduce(
        (sum, { includeValues, topK }) => sum + (includeValues ? vectorBytes(topK, dimensions) : 0),
        0,
      ),
    metadataMax: ({ body }) =>
      body.queries.reduce((sum, { includeMetadata, topK }) => sum + (includeMetadata ? topK : 0), 0),
    heldBytes: ({ results }) => results.reduce((sum, { matches }) => sum + recordBytes(matches), 0),
    countedQueries: ({ results }) => results.length,
  }),
  route('POST', '/collections/{name}/upsert', 'collections.upsert', 'write', {
    mayBeAway: true,
    queue: 'write',
    body: 'upsert',
    params: (input) => ({ ...bodyParams(input), isAnchorAwaited: input.body.waitForAnchor ?? true }),
    answer: withWarnings,
  }),
  route('POST', '/collections/{name}/import', 'collections.import', 'write', {
    queue: 'write',
    body: 'import',
    streams: 'request',
  }),
  route('POST', '/collections/{name}/fetch', 'collections.fetch', 'read', {
    mayBeAway: true,
    width: bodyFetchWidth,
    body: 'fetch',
    params: bodyParams,
    answer: (records) => vectorsJson(records),
    expectedBytes: ({ body }, dimensions) => vectorBytes(body.ids.length, dimensions),
    metadataMax: ({ body }) => body.ids.length,
    heldBytes: recordBytes,
  }),
  route('POST', '/collections/{name}/count', 'collections.count', 'read', {
    mayBeAway: true,
    queue: 'query',
    body: 'count',
    params: bodyParamsWithFields,
    answer: withWarnings,
  }),
  route('POST', '/collections/{name}/facets', 'collections.facets', 'read', {
    mayBeAway: true,
    queue: 'query',
    width: namesWidth,
    body: 'facets',
    params: bodyParamsWithFields,
    answer: (result, input) => facetsJson(result, warningsOf(result, input)),
    heldBytes: ({ values }) => recordBytes(values.map(({ value, count }) => [value, count])),
    countedQueries: () => 1,
  }),
  route('POST', '/collections/{name}/list', 'collections.listRecords', 'read', {
    mayBeAway: true,
    queue: 'query',
    width: (shards, body) => recordsWidth(shards, body?.limit),
    body: 'list',
    params: bodyParamsWithFields,
    answer: (page, input) => recordsJson(page, warningsOf(page, input)),
    expectedBytes: ({ body }, dimensions) => (body.includeValues ? vectorBytes(body.limit, dimensions) : 0),
    metadataMax: ({ body }) => (body.includeMetadata ? body.limit : 0),
    heldBytes: ({ records }) => recordBytes(records),
  }),
  route('POST', '/collections/{name}/update', 'collections.updateRecords', 'write', {
    mayBeAway: true,
    queue: 'write',
    width: updateWidth,
    body: 'update',
    perform: (input, call) => updateForKey(input, call, bodyParamsWithFields(input)),
    answer: withWarnings,
  }),
  route('POST', '/collections/{name}/delete', 'collections.delete', 'write', {
    mayBeAway: true,
    queue: 'perAccount',
    width: deleteWidth,
    body: 'delete',
    params: bodyParamsWithFields,
    answer: withWarnings,
  }),
  route('GET', '/collections/{name}/namespaces', 'collections.namespaces', 'read', {
    mayBeAway: true,
    needsCollection: true,
    queue: 'query',
    width: namesWidth,
    query: ['prefix', 'limit', 'cursor'],
    params: (input) => ({
      ...collectionParams(input),
      ...limitedPageOf(input.query, input.limits.namespacesPageMax),
      prefix: decodeNamespace(input.query.get('prefix') ?? '', 'prefix', input.limits),
    }),
  }),
  route('DELETE', '/collections/{name}/namespaces/{namespace}', 'collections.deleteNamespace', 'write', {
    mayBeAway: true,
    needsCollection: true,
    queue: 'perAccount',
    width: scanWidth,
    params: (input) => ({ ...collectionParams(input), namespace: namespaceOf(input) }),
  }),
];

const COLLECTION_ROUTES = [
  route('GET', '/collections/{name}', 'collections.get', 'read', {
    needsCollection: true,
    width: headsWidth,
    params: collectionParams,
    answer: (collection) => ({ collection }),
  }),
  route('GET', '/collections', 'collections.list', 'read', {
    width: () => LIST_WIDTH,
    query: ['limit', 'cursor'],
    params: ({ accountId, query, limits }) => ({ accountId, ...limitedPageOf(query, limits.collectionsPageMax) }),
  }),
  route('POST', '/collections', 'collections.create', 'manage', {
    body: 'createCollection',
    status: 201,
    params: ({ accountId, body }) => ({ ...body, accountId }),
    answer: (collection) => ({ collection }),
    location: (collection) => `${PROVEC.base}/collections/${encodeURIComponent(collection.name)}`,
  }),
  route('PATCH', '/collections/{name}', 'collections.update', 'manage', {
    width: headsWidth,
    body: 'changeCollection',
    params: (input) => ({ ...collectionParams(input), ...input.body }),
    answer: (collection) => ({ collection }),
  }),
  route('DELETE', '/collections/{name}', 'collections.remove', 'manage', {
    queue: 'perAccount',
    params: collectionParams,
  }),
  route('GET', '/collections/{name}/verify', 'verification.verify', 'read', {
    queue: 'verify',
    query: ['id', 'namespace'],
    timeoutMs: VERIFY_TIMEOUT_MS,
    params(input) {
      if (input.query.has('namespace')) throw invalidValue('namespace', 'given with an id', 'given alone');
      return collectionParams(input);
    },
    whenGiven: { id: PROOF },
  }),
  PROOF,
  route('POST', '/collections/{name}/verifications', 'verification.begin', 'read', {
    status: 202,
    params: collectionParams,
    answer: ({ collection: _, ...verification }) => verification,
    // Names the collection, not an alias, which may be switched before the verification ends.
    location: ({ collection, id }) =>
      `${PROVEC.base}/collections/${encodeURIComponent(collection)}/verifications/${encodeURIComponent(id)}`,
  }),
  route('GET', '/collections/{name}/verifications/{id}', 'verification.get', 'read', {
    params: (input) => ({ ...collectionParams(input), id: input.item }),
  }),
  route('GET', '/collections/{name}/export', 'collections.export', 'read', {
    mayBeAway: true,
    queue: 'query',
    streams: 'response',
    params: collectionParams,
  }),
  route('GET', '/collections/{name}/anchors', 'collections.anchors', 'read', {
    query: ['limit', 'cursor'],
    params: (input) => ({ ...collectionParams(input), ...limitedPageOf(input.query, input.limits.anchorsPageMax) }),
  }),
];

const MEMORY = route('GET', '/collections/{name}/memory', 'collections.memory', 'read', {
  needsCollection: true,
  width: headsWidth,
  params: collectionParams,
});

const AUDIT_LINK_ROUTES = [
  route('GET', '/audit-links/{token}', 'collections.auditView', 'link', {
    width: headsWidth,
    query: ['limit', 'cursor'],
    params: ({ target, query, limits }) => ({ token: target, ...limitedPageOf(query, limits.anchorsPageMax) }),
  }),
  route('GET', '/collections/{name}/audit-links', 'collections.auditLinks', 'manage', { params: collectionParams }),
  route('POST', '/collections/{name}/audit-links', 'collections.createAuditLink', 'manage', {
    body: 'createAuditLink',
    status: 201,
    params: (input) => ({ ...collectionParams(input), ...input.body }),
    answer: (link) => ({ link }),
  }),
  route('DELETE', '/collections/{name}/audit-links/{id}', 'collections.revokeAuditLink', 'manage', {
    queue: 'perAccount',
    params: (input) => ({ ...collectionParams(input), id: input.item }),
  }),
];

const aliased = ({ accountId, target }: RouteInput) => ({ accountId, alias: target });

const ALIAS_ROUTES = [
  route('GET', '/aliases/{alias}', 'collections.getAlias', 'read', { params: aliased }),
  route('GET', '/aliases', 'collections.aliasesPage', 'read', {
    width: () => LIST_WIDTH,
    query: ['limit', 'cursor'],
    params: ({ accountId, query, limits }) => ({ accountId, ...fullPageOf(query, limits.aliasesPageMax) }),
  }),
  route('PUT', '/aliases/{alias}', 'collections.putAlias', 'manage', {
    body: 'putAlias',
    params: (input) => ({ ...aliased(input), ...input.body }),
    made: ({ created }) => created,
    answer: ({ alias, collection }) => ({ alias, collection }),
    location: ({ alias }) => `${PROVEC.base}/aliases/${encodeURIComponent(alias)}`,
  }),
  route('DELETE', '/aliases/{alias}', 'collections.deleteAlias', 'manage', { queue: 'perAccount', params: aliased }),
];

const ACCOUNT_ROUTES = [
  route('GET', '/usage', 'metering.usage', 'read', { params: ({ accountId }) => ({ accountId }) }),
  route('GET', '/usage/daily', 'metering.usageDays', 'read', {
    query: ['days'],
    params: ({ accountId, query }) => ({ accountId, days: daysOf(query) }),
  }),
  route('GET', '/keys', 'keys.page', 'manage', {
    width: () => LIST_WIDTH,
    query: ['limit', 'cursor'],
    params: ({ accountId, query, limits }) => ({ accountId, ...fullPageOf(query, limits.keysPageMax) }),
  }),
  route('POST', '/keys', 'keys.create', 'manage', {
    body: 'createKey',
    status: 201,
    params: ({ accountId, body }) => ({ ...body, accountId }),
    answer: (key) => ({ key }),
  }),
  route('GET', '/audit', 'keys.auditPage', 'manage', {
    width: () => LIST_WIDTH,
    query: ['limit', 'cursor'],
    params: ({ accountId, query }) => ({ trail: accountId, ...auditPageOf(query) }),
  }),
  route('DELETE', '/keys/{id}', 'keys.revoke', 'manage', {
    queue: 'perAccount',
    params: ({ accountId, target }) => ({ accountId, id: target }),
  }),
];

/**
 * Returns all routes of `/api/v1`, most frequent first. Operator routes are included only if an
 * operator token is configured.
 */
export function routesOf(withOperator: boolean): readonly Route[] {
  const routes = [
    ...VECTOR_ROUTES,
    ...COLLECTION_ROUTES,
    MEMORY,
    ...AUDIT_LINK_ROUTES,
    ...ALIAS_ROUTES,
    ...ACCOUNT_ROUTES,
  ];
  return withOperator ? [...routes, ...OPERATOR_ROUTES] : routes;
}
