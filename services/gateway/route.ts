import type { ActionName, Actions } from '../../lib/actions/call.ts';
import type { Limits } from '../../lib/limits.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { Scope } from '../../lib/store/keys.ts';
import type { Bodies, BodyName } from './bodies/decoders.ts';
import type { QueueName } from './overload/queues.ts';
import type { Pieces } from './responses/splice.ts';
import type { Surface } from './surface.ts';

/** Stands for a segment of a path that cannot be decoded: the name of nothing. */
export const UNDECODABLE = '\0';

/** Verify reads everything that is stored. */
export const VERIFY_TIMEOUT_MS = 600_000;

/** What a route's action gets its parameters from, after every check of the edge. */
export interface RouteInput {
  /** Empty on operator routes. */
  accountId: string;
  /** The first path parameter: `{name}`, `{alias}` or `{id}`; empty when the path has none. */
  target: string;
  /** The one after `{name}`; empty when the path has none. */
  item: string;
  query: ReadonlyMap<string, string>;
  /** What follows the `?`, undecoded. */
  search: string;
  body: unknown;
  /** Null where the route does not look it up. */
  collection: CollectionRow | null;
  /** Whether the key has the scope `read`. */
  mayRead: boolean;
  /** Where clients reach the service, as `https://host:port`. */
  origin: string;
  limits: Limits;
}

/** Calls an action on behalf of the request, of the collection that its path names. */
export type RouteCall = <N extends ActionName>(
  action: N,
  params: Actions[N]['params'],
) => Promise<Actions[N]['result']>;

/** Sent as JSON: an object, or what writes it piece by piece; null: nothing. */
export type Answer = object | Pieces | null;

export interface Route {
  surface: Surface;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the surface's base, with parameters in braces. */
  path: string;
  action: ActionName;
  /** Who may: keys with that scope, or only the operator. */
  access: Scope | 'operator';
  body: BodyName | null;
  /** Whether the collection that its path names is looked up first. */
  needsCollection: boolean;
  query: readonly string[];
  /** Where it waits for its turn. */
  queue: QueueName;
  /** Permits that it takes there; `shards`: those of its collection, 1 where it has none. */
  width(shards: number): number;
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
  /** Of a route that is more than one call of its action: all of them. */
  perform: ((input: RouteInput, call: RouteCall) => Promise<unknown>) | null;
  answer(result: unknown, input: RouteInput): Answer;
  /**
   * Reads the next part of an answer whose first part is being sent; null after the last one.
   * `heldBytes` is asked of the same result after each. Null where the answer has one part.
   */
  more: ((result: unknown, call: RouteCall) => Promise<Pieces | null>) | null;
  /** Bytes of vectors that the answer will hold at most, as the request has it. */
  expectedBytes(input: RouteInput, dimensions: number): number;
  /** Bytes of records that the answer holds. */
  heldBytes(result: unknown): number;
  /** How many queries of the plan it was counted as: given back where it cannot be sent. */
  countedQueries(result: unknown): number;
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
interface Definition<N extends ActionName, K extends BodyName | null, R>
  extends Partial<
    Pick<
      Route,
      'needsCollection' | 'query' | 'queue' | 'width' | 'mayBeAway' | 'status' | 'timeoutMs' | 'streams' | 'whenGiven'
    >
  > {
  body?: K;
  /** Absent where the route's steps make them. */
  params?(input: InputOf<K>): Actions[N]['params'];
  perform?(input: InputOf<K>, call: RouteCall): Promise<R>;
  answer?(result: NoInfer<R>, input: InputOf<K>): Answer;
  more?(result: NoInfer<R>, call: RouteCall): Promise<Pieces | null>;
  expectedBytes?(input: InputOf<K>, dimensions: number): number;
  heldBytes?(result: NoInfer<R>): number;
  countedQueries?(result: NoInfer<R>): number;
  made?(result: NoInfer<R>): boolean;
  location?(result: NoInfer<R>, input: RouteInput): string;
}
type InputOf<K> = RouteInput & { body: K extends BodyName ? Bodies[K] : null };

/** Checks a route's parameters and answer against its action's types, and forgets them. */
export const routesBelow =
  (surface: Surface) =>
  <N extends ActionName, K extends BodyName | null = null, R = Actions[N]['result']>(
    method: Route['method'],
    path: string,
    action: N,
    access: Route['access'],
    definition: Definition<N, K, R>,
  ): Route =>
    ({
      surface,
      method,
      path,
      action,
      access,
      body: null,
      needsCollection: definition.body !== undefined && path.includes('{name}'),
      query: [],
      queue: 'other',
      // A query takes one for each shard that it searches.
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
      heldBytes: () => 0,
      countedQueries: () => 0,
      location: null,
      streams: null,
      whenGiven: {},
      ...definition,
    }) as Route;

/** Parameters of an action on the collection that the path names. */
export const named = ({ accountId, target }: Pick<RouteInput, 'accountId' | 'target'>) => ({ accountId, name: target });

/** With the decoded body. */
export const asked = (input: RouteInput) => ({ ...named(input), decoded: input.body as object });

/** Of a route in logs, metrics and the OpenAPI document. */
export const patternOf = ({ surface, path }: Pick<Route, 'surface' | 'path'>): string => surface.base + path;
