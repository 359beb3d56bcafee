import assert from 'node:assert/strict';
import type { ActionName, Actions } from '../../contracts/actions/call.ts';
import type { RequestName } from '../../contracts/requests/requests.ts';
import type { Limits } from '../../lib/limits.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Scope } from '../../store/keys.ts';
import type { BodyName, DecodedBody } from './bodies/decoders.ts';
import type { Translation } from './bodies/translation.ts';
import type { Dialect } from './dialect.ts';
import type { QueueName } from './overload/queues.ts';
import type { Pieces } from './responses/json-pieces.ts';

/** Replaces a path segment that cannot be decoded. No resource can have this name. */
export const UNDECODABLE = '\0';

/** Timeout in ms for verification, which reads the whole collection. */
export const VERIFY_TIMEOUT_MS = 600_000;

/** Checked request that a route's action parameters are built from. */
export interface RouteInput {
  /** Empty on operator routes. */
  accountId: string;
  /** First path parameter: `{name}`, `{alias}` or `{id}`; empty if the path has none. */
  target: string;
  /** Path parameter after `{name}`; empty if the path has none. */
  item: string;
  query: ReadonlyMap<string, string>;
  /** Undecoded text after the `?`. */
  search: string;
  body: unknown;
  /** Null if the route does not look it up. */
  collection: CollectionRow | null;
  /** Whether the key has the scope `read`. */
  mayRead: boolean;
  /** URL under which clients reach the service, as `https://host:port`. */
  origin: string;
  limits: Limits;
}

/** Returns the collection of a route that looks it up. */
export function requiredCollection({ collection }: Pick<RouteInput, 'collection'>): CollectionRow {
  assert(collection !== null, 'the route does not look its collection up');
  return collection;
}

/** Calls an action on behalf of the request, for the collection in its path. */
export type RouteCall = <N extends ActionName>(
  action: N,
  params: Actions[N]['params'],
) => Promise<Actions[N]['result']>;

/** Response body, sent as JSON: an object, or a writer of pieces. Null: no body. */
export type Answer = object | Pieces | null;

export interface Route {
  dialect: Dialect;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the dialect's base, with parameters in braces. */
  path: string;
  action: ActionName;
  /** Who may call it: keys with that scope, anyone with an audit link, or only the operator. */
  access: Scope | 'link' | 'operator';
  body: BodyName | null;
  /** Whether the collection in the path is looked up first. */
  needsCollection: boolean;
  query: readonly string[];
  queue: QueueName;
  /**
   * Permits that it takes there. `shards` is the collection's number of shards, or 1. `body` is
   * null until it is decoded. The query string is not checked yet.
   */
  width(shards: number, body: unknown, asked: Pick<RouteInput, 'query' | 'search'>): number;
  /**
   * Whether the action fails with SHARD_UNAVAILABLE while a shard is unavailable, and may be called
   * again once it is back.
   */
  mayBeAway: boolean;
  /** Status of a successful response. */
  status: 200 | 201 | 202;
  /** For a route that creates or changes: whether it created, which makes the status 201. */
  made: ((result: unknown) => boolean) | null;
  /** Timeout in ms; null: the action's own. */
  timeoutMs: number | null;
  params(input: RouteInput): unknown;
  /** Makes all calls of a route that needs more than one. */
  perform: ((input: RouteInput, call: RouteCall) => Promise<unknown>) | null;
  answer(result: unknown, input: RouteInput): Answer;
  /**
   * Reads the next part of a response whose first part is being sent; returns null after the last.
   * The pipeline calls `heldBytes` again after each part. Null if the response has one part.
   */
  more: ((result: unknown, call: RouteCall) => Promise<Pieces | null>) | null;
  /** Maximum bytes of vectors in the response, judged by the request. */
  expectedBytes(input: RouteInput, dimensions: number): number;
  /** Maximum number of records with metadata in the response, judged by the request. */
  metadataMax(input: RouteInput): number;
  /** Bytes of records in the result. */
  heldBytes(result: unknown): number;
  /** Number of queries counted against the plan, given back if the response cannot be sent. */
  countedQueries(result: unknown): number;
  /** Path of what a 201 created or a 202 started; null if the response has no Location. */
  location: ((result: unknown, input: RouteInput) => string) | null;
  /**
   * Whether the request or the response is newline-delimited JSON of any length. Separate pipeline
   * steps process it as it arrives.
   */
  streams: 'request' | 'response' | null;
  /**
   * Whether a request is a message of an agent (`mcp/`). Its tools call other routes, which check
   * scopes, so `access` and `action` are not used.
   */
  carriesMessages: boolean;
  /** Routes that replace this one if the query parameter is given. */
  whenGiven: Readonly<Record<string, Route>>;
}

/** Optional properties of a route; `routesBelow` supplies the defaults. */
interface Definition<N extends ActionName, K extends string | null, R, T extends Translations>
  extends Partial<
    Pick<
      Route,
      | 'needsCollection'
      | 'query'
      | 'queue'
      | 'mayBeAway'
      | 'status'
      | 'timeoutMs'
      | 'streams'
      | 'carriesMessages'
      | 'whenGiven'
    >
  > {
  body?: K;
  width?(shards: number, body: InputOf<K, T>['body'] | null, asked: Pick<RouteInput, 'query' | 'search'>): number;
  /** Absent if the route's own steps build the parameters. */
  params?(input: InputOf<K, T>): Actions[N]['params'];
  perform?(input: InputOf<K, T>, call: RouteCall): Promise<R>;
  answer?(result: NoInfer<R>, input: InputOf<K, T>): Answer;
  more?(result: NoInfer<R>, call: RouteCall): Promise<Pieces | null>;
  expectedBytes?(input: InputOf<K, T>, dimensions: number): number;
  metadataMax?(input: InputOf<K, T>): number;
  heldBytes?(result: NoInfer<R>): number;
  countedQueries?(result: NoInfer<R>): number;
  made?(result: NoInfer<R>): boolean;
  location?(result: NoInfer<R>, input: RouteInput): string;
}
type Translations = Readonly<Record<string, Translation>>;
/** Input of a route with the body `K`; `T` are the bodies of its dialect. */
export type InputOf<K, T extends Translations> = RouteInput & {
  body: K extends keyof T ? DecodedBody<T[K]['request']> : K extends RequestName ? DecodedBody<K> : null;
};

/** Builds routes, checked against the types of their actions and of the dialect's bodies `T`. */
export const routesBelow =
  <T extends Translations = Record<never, never>>(dialect: Dialect) =>
  <N extends ActionName, K extends RequestName | (keyof T & string) | null = null, R = Actions[N]['result']>(
    method: Route['method'],
    path: string,
    action: N,
    access: Route['access'],
    definition: Definition<N, K, R, T>,
  ): Route =>
    ({
      dialect,
      method,
      path,
      action,
      access,
      body: null,
      needsCollection: definition.body !== undefined && path.includes('{name}'),
      query: [],
      queue: 'other',
      // A query takes one permit for each shard that it searches.
      width: (shards) => (definition.queue === 'query' ? shards : 1),
      mayBeAway: false,
      status: 200,
      made: null,
      timeoutMs: null,
      params: () => ({}),
      perform: null,
      answer: (result: Answer) => result,
      more: null,
      expectedBytes: () => 0,
      metadataMax: () => 0,
      heldBytes: () => 0,
      countedQueries: () => 0,
      location: null,
      streams: null,
      carriesMessages: false,
      whenGiven: {},
      ...definition,
    }) as Route;

/** Parameters of an action on the collection in the path. */
export const collectionParams = ({ accountId, target }: Pick<RouteInput, 'accountId' | 'target'>) => ({
  accountId,
  name: target,
});

/** Parameters with the body. */
export const bodyParams = <B>(input: RouteInput & { body: B }) => ({ ...collectionParams(input), body: input.body });

/** Pattern of a route in logs, metrics and the OpenAPI document. */
export const patternOf = ({ dialect, path }: Pick<Route, 'dialect' | 'path'>): string => dialect.base + path;
