import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../contracts/actions/call.ts';
import type { Identity } from '../../contracts/actions/keys.ts';
import type { MemoryHold } from '../../lib/admission/memory-budget.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { type Config, schemeOf } from '../../process/config.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import type { Permit } from './overload/fair-queue.ts';
import type { QueueName } from './overload/queues.ts';
import { patternOf, type Route, type RouteInput } from './route.ts';

const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const CONTROL_METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);
/** Host name or address with an optional port. Other Host headers never end up in a URL. */
const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-fA-F:.]+\](:\d+)?$/;

interface RequestParts {
  config: Pick<Config, 'limits' | 'publicUrl' | 'tlsCert'>;
  /** Dialects besides our own. */
  dialects: readonly Dialect[];
  /** Default: the client's, or a new one. */
  id?: string;
}

/** A request whose route is found: what the steps of the pipeline work on. */
export type RoutedRequest = RequestContext & { route: Route; caller: Caller };

/** One request and its response in the gateway, with the findings of each step. */
export class RequestContext implements RouteInput {
  readonly #config: RequestParts['config'];
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Request id, sent in every response and written to the log. */
  readonly id: string;
  /** Method as sent; `req.method` becomes GET for HEAD when routing begins. */
  readonly method: string;
  /** Path without the query string. */
  readonly path: string;
  /** Undecoded text after the `?`. */
  readonly search: string;
  /** When its head was read, in the gateway's monotonic milliseconds. */
  readonly startedMs: number;
  readonly dialect: Dialect;
  /** True if the client waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean;
  /** Route pattern for logs and metrics. */
  pattern = 'unmatched';
  /** Set by the router together with `target`, `item` and `caller`; null until then. */
  route: Route | null = null;
  target = '';
  item = '';
  /** Makes calls that belong to this request. */
  caller: Caller | null = null;
  /** Null for an operator's request, and until the key is looked up. */
  identity: Identity | null = null;
  /** When the key was last looked up, in the gateway's monotonic milliseconds. */
  identifiedMs = 0;
  collection: CollectionRow | null = null;
  /** When `collection` was looked up, in the gateway's monotonic milliseconds. */
  resolvedMs = 0;
  query: ReadonlyMap<string, string> = new Map();
  /** Body, owned by this request. */
  bytes = new Uint8Array(0);
  /** Size of the body as it was received. */
  bodyBytes = 0;
  /** Decoded body; null until then, and for a request without one. */
  body: unknown = null;
  params: unknown = null;
  result: unknown = null;
  /** Memory reserved for the body, held until the action ends. */
  bodyMemory: MemoryHold | null = null;
  /** Memory reserved for the response, from before the action until it is sent. */
  answerMemory: MemoryHold | null = null;
  /**
   * Why the gateway aborted a response after its head: a slow client, or the code of the error that
   * a part failed with. Null if it did not.
   */
  cutOff: 'slow_client' | ErrorCode | null = null;
  /** Code of the error that the client received; null if none. */
  failedWith: ErrorCode | null = null;
  /** Expected size of the response, reserved before the action is called. */
  expectedBytes = 0;
  /** Queue and number of permits that the request asked for last; null until then. */
  turn: { queue: QueueName; width: number } | null = null;
  /** Permits in the queue, held until the action ends. */
  permit: Permit | null = null;
  /**
   * When the request stops waiting, in the gateway's monotonic milliseconds. Set once the request
   * has arrived in full.
   */
  deadlineMs = 0;

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    startedMs: number,
    awaitsContinue: boolean,
    { config, dialects, id = requestIdOf(req) }: RequestParts,
  ) {
    this.#config = config;
    this.req = req;
    this.res = res;
    this.startedMs = startedMs;
    this.awaitsContinue = awaitsContinue;
    this.method = req.method ?? 'GET';
    this.id = id;
    const target = originForm(req.url ?? '/');
    const mark = target.indexOf('?');
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.search = mark < 0 ? '' : target.slice(mark + 1);
    this.dialect = dialectOf(this.path, dialects);
  }

  routed(route: Route, { target, item }: Pick<RequestContext, 'target' | 'item'>, caller: Caller): RoutedRequest {
    return Object.assign(this, { route, target, item, caller, pattern: patternOf(route) });
  }

  /**
   * Returns a request for another route, made by this one's client with the same key. It holds
   * permits and memory of its own.
   */
  forRoute(route: Route, target: string, caller: Caller): RoutedRequest {
    const { dialect, id, req, res } = this;
    const parts = { config: this.#config, dialects: [dialect], id };
    const request = new RequestContext(req, res, this.startedMs, false, parts);
    request.identity = this.identity;
    request.identifiedMs = this.identifiedMs;
    return request.routed(route, { target, item: '' }, caller);
  }

  /** Account of the request; empty for an operator's request, and until it is known. */
  get accountId(): string {
    return this.identity?.accountId ?? '';
  }

  get mayRead(): boolean {
    return this.identity?.scopes.includes('read') ?? false;
  }

  get origin(): string {
    const { host = '' } = this.req.headers;
    return this.#config.publicUrl ?? `${schemeOf(this.#config)}://${HOST.test(host) ? host : 'localhost'}`;
  }

  get limits(): Limits {
    return this.#config.limits;
  }

  /**
   * Calls `leave` once when the client disconnects, or soon if it already has. Returns a function
   * that cancels this.
   */
  whenGone(leave: () => void): () => void {
    if (this.res.closed) {
      const leaving = setImmediate(leave);
      return () => clearImmediate(leaving);
    }
    this.res.once('close', leave);
    return () => this.res.off('close', leave);
  }

  /** Aborts a response after its head. Does nothing if the client has disconnected. */
  abort(reason: 'slow_client' | ErrorCode): void {
    if (!this.res.destroyed) this.cutOff = reason;
    this.res.destroy();
  }

  /** Releases permits and the body's memory, once the action has ended or will not be called. */
  actionEnded(): void {
    this.permit?.release();
    this.bodyMemory?.release();
  }

  /** Releases everything that is held for the request. */
  release(): void {
    this.actionEnded();
    this.answerMemory?.release();
  }

  /** Method as a metric label: `other` for an unknown one. */
  get methodLabel(): string {
    return CONTROL_METHODS.has(this.method) ? this.method : 'other';
  }

  get hasBody(): boolean {
    return this.req.headers['transfer-encoding'] !== undefined || this.declaredBytes > 0;
  }

  /** Value of Content-Length; 0 without a valid one. */
  get declaredBytes(): number {
    const length = Number(this.req.headers['content-length'] ?? 0);
    return Number.isSafeInteger(length) && length > 0 ? length : 0;
  }
}

/** Returns the client's X-Request-Id if it is valid, else a new UUID. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}

/** Returns the path and query of a request target; proxies may send the absolute form. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const url = URL.canParse(target) ? new URL(target) : null;
  return url === null ? target : url.pathname + url.search;
}
