import type { ActionName, Actions } from '../../lib/actions/call.ts';
import { recordBytes, vectorBytes } from '../../lib/admission/answer-size.ts';
import type { Limits } from '../../lib/limits.ts';
import { invalid } from '../../lib/records/fields.ts';
import { decodeId, decodeNamespace } from '../../lib/records/ids.ts';
import type { RequestName } from '../../lib/requests/requests.ts';
import type { Scope } from '../../lib/store/keys.ts';
import type { Bodies } from './bodies/decoders.ts';
import type { QueueName } from './overload/queues.ts';
import { describeParameter } from './query-string.ts';
import { matchesJson, type Pieces, recordsJson, resultsJson, vectorsJson } from './responses/splice.ts';

export const BASE_PATH = '/api/v1';
/** Stands for a segment of a path that cannot be decoded: the name of nothing. */
export const UNDECODABLE = '\0';
/** Verify reads everything that is stored. */
const VERIFY_TIMEOUT_MS = 600_000;

/** What a route's action gets its parameters from, after every check of the edge. */
export interface RouteInput {
  /** Empty on operator routes. */
  accountId: string;
  /** The first path parameter: `{name}`, `{alias}` or `{id}`; empty when the path has none. */
  target: string;
  /** The one after `{name}`; empty when the path has none. */
  item: string;
  query: ReadonlyMap<string, string>;
  body: unknown;
  limits: Limits;
}

/** Sent as JSON: an object, or what writes it piece by piece. */
export type Answer = object | Pieces;

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/api/v1`, with parameters in braces. */
  path: string;
  action: ActionName;
  /** Who may: keys with that scope, or only the operator. */
  access: Scope | 'operator';
  body: RequestName | null;
  query: readonly string[];
  /** Where it waits for its turn. */
  queue: QueueName;
  /**
   * Whether its action says, by SHARD_UNAVAILABLE, that a shard is away, and may be called again
   * once it is back.
   */
  mayBeAway: boolean;
  /** Of the answer. */
  status: 200 | 201 | 202;
  /** Of a route that makes or changes: whether it made, which is a 201. */
  made: ((result: unknown) => boolean) | null;
  /** Null: the action's own. */
  timeoutMs: number | null;
  params(input: RouteInput): unknown;
  answer(result: unknown): Answer;
  /** Bytes of vectors that the answer will hold at most, as the request has it. */
  expectedBytes(input: RouteInput, dimensions: number): number;
  /** Bytes of records that the answer holds. */
  heldBytes(result: unknown): number;
  /** Path of what a 201 created, or a 202 began; null where those name none. */
  location: ((result: unknown, input: RouteInput | null) => string) | null;
  /**
   * Which of the two is newline-delimited JSON of any length, and goes through as it comes: the
   * pipeline has steps of its own for it.
   */
  streams: 'request' | 'response' | null;
  /** The route that stands in its place when that query parameter is given. */
  whenGiven: Readonly<Record<string, Route>>;
}

/** What of a route is not in its first line; what it leaves out is as `route` has it. */
interface Definition<N extends ActionName, K extends RequestName | null>
  extends Partial<Pick<Route, 'query' | 'queue' | 'mayBeAway' | 'status' | 'timeoutMs' | 'streams' | 'whenGiven'>> {
  body?: K;
  /** Absent where the route's steps make them. */
  params?(input: InputOf<K>): Actions[N]['params'];
  answer?(result: Actions[N]['result']): Answer;
  expectedBytes?(input: InputOf<K>, dimensions: number): number;
  heldBytes?(result: Actions[N]['result']): number;
  made?(result: Actions[N]['result']): boolean;
  location?(result: Actions[N]['result'], input: RouteInput): string;
}
type InputOf<K> = RouteInput & { body: K extends RequestName ? Bodies[K] : null };

/** Checks a route's parameters and answer against its action's types, and forgets them. */
function route<N extends ActionName, K extends RequestName | null = null>(
  method: Route['method'],
  path: string,
  action: N,
  access: Route['access'],
  definition: Definition<N, K>,
): Route {
  return {
    method,
    path,
    action,
    access,
    body: null,
    query: [],
    queue: 'other',
    mayBeAway: false,
    status: 200,
    made: null,
    timeoutMs: null,
    params: () => ({}),
    answer: (result: Answer) => result,
    expectedBytes: () => 0,
    heldBytes: () => 0,
    location: null,
    streams: null,
    whenGiven: {},
    ...definition,
  } as Route;
}

/** Of a route in logs, metrics and the OpenAPI document. */
export const patternOf = (route: Pick<Route, 'path'>): string => BASE_PATH + route.path;

const named = ({ accountId, target }: Pick<RouteInput, 'accountId' | 'target'>) => ({ accountId, name: target });

const asked = (input: RouteInput) => ({ ...named(input), decoded: input.body as object });

function namespaceOf({ item, limits }: RouteInput): string {
  if (item === UNDECODABLE) throw invalid('namespace', 'percent-encoded UTF-8 without U+0000', 'bytes that are not');
  return decodeNamespace(item, 'namespace', limits);
}

/**
 * Which page is asked for, of at most `maxItems`; what is none of its cursors the action refuses.
 */
function pageOf(query: RouteInput['query'], maxItems: number): { limit?: number; cursor?: string } {
  const [limit, cursor] = [query.get('limit'), query.get('cursor')];
  const isCount = limit === undefined || (/^\d{1,9}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= maxItems);
  if (!isCount) throw invalid('limit', `a whole number from 1 to ${maxItems}`, describeParameter(limit));
  return { ...(limit !== undefined && { limit: Number(limit) }), ...(cursor !== undefined && { cursor }) };
}

const PROOF = route('GET', '/collections/{name}/proof', 'collections.proof', 'read', {
  query: ['id', 'namespace'],
  params: ({ accountId, target, query, limits }) => ({
    ...named({ accountId, target }),
    id: decodeId(query.get('id'), 'id', limits),
    namespace: decodeNamespace(query.get('namespace') ?? '', 'namespace', limits),
  }),
  answer: (proof) => ({ proof }),
});

const VECTOR_ROUTES = [
  route('POST', '/collections/{name}/query', 'collections.query', 'read', {
    mayBeAway: true,
    queue: 'query',
    body: 'query',
    params: asked,
    answer: matchesJson,
    expectedBytes: ({ body }, dimensions) => (body.includeValues ? vectorBytes(body.topK, dimensions) : 0),
    heldBytes: ({ matches }) => recordBytes(matches),
  }),
  route('POST', '/collections/{name}/queries', 'collections.queries', 'read', {
    mayBeAway: true,
    queue: 'query',
    body: 'queries',
    params: asked,
    answer: resultsJson,
    expectedBytes: ({ body }, dimensions) =>
      body.queries.reduce(
        (sum, { includeValues, topK }) => sum + (includeValues ? vectorBytes(topK, dimensions) : 0),
        0,
      ),
    heldBytes: ({ results }) => results.reduce((sum, { matches }) => sum + recordBytes(matches), 0),
  }),
  route('POST', '/collections/{name}/upsert', 'collections.upsert', 'write', {
    mayBeAway: true,
    queue: 'write',
    body: 'upsert',
    params: asked,
  }),
  route('POST', '/collections/{name}/import', 'collections.import', 'write', {
    queue: 'write',
    body: 'import',
    streams: 'request',
  }),
  route('POST', '/collections/{name}/fetch', 'collections.fetch', 'read', {
    mayBeAway: true,
    body: 'fetch',
    params: asked,
    answer: vectorsJson,
    expectedBytes: ({ body }, dimensions) => vectorBytes(body.ids.length, dimensions),
    heldBytes: recordBytes,
  }),
  route('POST', '/collections/{name}/count', 'collections.count', 'read', {
    mayBeAway: true,
    queue: 'query',
    body: 'count',
    params: asked,
  }),
  route('POST', '/collections/{name}/facets', 'collections.facets', 'read', {
    mayBeAway: true,
    queue: 'query',
    body: 'facets',
    params: asked,
  }),
  route('POST', '/collections/{name}/list', 'collections.listRecords', 'read', {
    mayBeAway: true,
    queue: 'query',
    body: 'list',
    params: asked,
    answer: recordsJson,
    expectedBytes: ({ body }, dimensions) => (body.includeValues ? vectorBytes(body.limit, dimensions) : 0),
    heldBytes: ({ records }) => recordBytes(records),
  }),
  route('POST', '/collections/{name}/update', 'collections.updateRecords', 'write', {
    mayBeAway: true,
    queue: 'write',
    body: 'update',
    params: asked,
  }),
  route('POST', '/collections/{name}/delete', 'collections.delete', 'write', {
    mayBeAway: true,
    queue: 'unshared',
    body: 'delete',
    params: asked,
  }),
  route('GET', '/collections/{name}/namespaces', 'collections.namespaces', 'read', {
    mayBeAway: true,
    queue: 'query',
    query: ['prefix', 'limit', 'cursor'],
    params: (input) => ({
      ...named(input),
      ...pageOf(input.query, input.limits.namespacesPageMax),
      prefix: decodeNamespace(input.query.get('prefix') ?? '', 'prefix', input.limits),
    }),
  }),
  route('DELETE', '/collections/{name}/namespaces/{namespace}', 'collections.deleteNamespace', 'write', {
    mayBeAway: true,
    queue: 'unshared',
    params: (input) => ({ ...named(input), namespace: namespaceOf(input) }),
  }),
];

const COLLECTION_ROUTES = [
  route('GET', '/collections/{name}', 'collections.get', 'read', {
    params: named,
    answer: (collection) => ({ collection }),
  }),
  route('GET', '/collections', 'collections.list', 'read', {
    query: ['limit', 'cursor'],
    params: ({ accountId, query, limits }) => ({ accountId, ...pageOf(query, limits.collectionsPageMax) }),
  }),
  route('POST', '/collections', 'collections.create', 'manage', {
    body: 'createCollection',
    status: 201,
    params: ({ accountId, body }) => ({ ...body, accountId }),
    answer: (collection) => ({ collection }),
    location: (collection) => `${BASE_PATH}/collections/${encodeURIComponent(collection.name)}`,
  }),
  route('PATCH', '/collections/{name}', 'collections.update', 'manage', {
    body: 'changeCollection',
    params: (input) => ({ ...named(input), ...input.body }),
    answer: (collection) => ({ collection }),
  }),
  route('DELETE', '/collections/{name}', 'collections.remove', 'manage', { queue: 'unshared', params: named }),
  route('GET', '/collections/{name}/verify', 'verification.verify', 'read', {
    queue: 'verify',
    query: ['id', 'namespace'],
    timeoutMs: VERIFY_TIMEOUT_MS,
    params(input) {
      if (input.query.has('namespace')) throw invalid('namespace', 'given with an id', 'given alone');
      return named(input);
    },
    whenGiven: { id: PROOF },
  }),
  PROOF,
  route('POST', '/collections/{name}/verifications', 'verification.begin', 'read', {
    status: 202,
    params: named,
    answer: ({ collection: _, ...verification }) => verification,
    // An alias may be switched before it has ended.
    location: ({ collection, id }) =>
      `${BASE_PATH}/collections/${encodeURIComponent(collection)}/verifications/${encodeURIComponent(id)}`,
  }),
  route('GET', '/collections/{name}/verifications/{id}', 'verification.get', 'read', {
    params: (input) => ({ ...named(input), id: input.item }),
  }),
  route('GET', '/collections/{name}/export', 'collections.export', 'read', {
    mayBeAway: true,
    queue: 'query',
    streams: 'response',
    params: named,
  }),
  route('GET', '/collections/{name}/anchors', 'collections.anchors', 'read', {
    query: ['limit', 'cursor'],
    params: (input) => ({ ...named(input), ...pageOf(input.query, input.limits.anchorsPageMax) }),
  }),
];

const aliased = ({ accountId, target }: RouteInput) => ({ accountId, alias: target });

const ALIAS_ROUTES = [
  route('GET', '/aliases/{alias}', 'collections.getAlias', 'read', { params: aliased }),
  route('GET', '/aliases', 'collections.listAliases', 'read', {
    params: ({ accountId }) => ({ accountId }),
    answer: (aliases) => ({ aliases }),
  }),
  route('PUT', '/aliases/{alias}', 'collections.putAlias', 'manage', {
    body: 'putAlias',
    params: (input) => ({ ...aliased(input), ...input.body }),
    made: ({ created }) => created,
    answer: ({ alias, collection }) => ({ alias, collection }),
    location: ({ alias }) => `${BASE_PATH}/aliases/${encodeURIComponent(alias)}`,
  }),
  route('DELETE', '/aliases/{alias}', 'collections.deleteAlias', 'manage', { queue: 'unshared', params: aliased }),
];

const ACCOUNT_ROUTES = [
  route('GET', '/usage', 'metering.usage', 'read', { params: ({ accountId }) => ({ accountId }) }),
  route('GET', '/keys', 'keys.list', 'manage', {
    params: ({ accountId }) => ({ accountId }),
    answer: (keys) => ({ keys }),
  }),
  route('POST', '/keys', 'keys.create', 'manage', {
    body: 'createKey',
    status: 201,
    params: ({ accountId, body }) => ({ ...body, accountId }),
    answer: (key) => ({ key }),
  }),
  route('DELETE', '/keys/{id}', 'keys.revoke', 'manage', {
    queue: 'unshared',
    params: ({ accountId, target }) => ({ accountId, id: target }),
  }),
];

const OPERATOR_ROUTES = [
  route('POST', '/admin/accounts', 'keys.createAccount', 'operator', {
    queue: 'unshared',
    body: 'createAccount',
    status: 201,
    params: ({ body }) => body,
  }),
  route('GET', '/admin/accounts', 'keys.listAccounts', 'operator', {
    queue: 'unshared',
    params: () => ({}),
    answer: (accounts) => ({ accounts }),
  }),
  route('PATCH', '/admin/accounts/{id}', 'keys.setPlan', 'operator', {
    queue: 'unshared',
    body: 'changePlan',
    params: ({ body, target }) => ({ ...body, id: target }),
    answer: (account) => ({ account }),
  }),
  route('DELETE', '/admin/accounts/{id}', 'keys.deleteAccount', 'operator', {
    queue: 'unshared',
    params: ({ target }) => ({ id: target }),
  }),
];

/**
 * Every route below `/api/v1`, those that are called most first; operator routes exist only where
 * there is an operator.
 */
export function routesOf(withOperator: boolean): readonly Route[] {
  const routes = [...VECTOR_ROUTES, ...COLLECTION_ROUTES, ...ALIAS_ROUTES, ...ACCOUNT_ROUTES];
  return withOperator ? [...routes, ...OPERATOR_ROUTES] : routes;
}
