import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../lib/actions/call.ts';
import type { Identity } from '../../lib/actions/keys.ts';
import type { MemoryHold } from '../../lib/admission/memory-budget.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { Permit } from './overload/fair-queue.ts';
import { patternOf, type Route, type RouteInput } from './route.ts';
import type { PathParameters } from './router.ts';
import type { Surface } from './surface.ts';
import { surfaceOf } from './surfaces.ts';

const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const CONTROL_METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

/** A request and its response on their way through the gateway, with what each step found out. */
export class Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** In every answer, every error and the log. */
  readonly id: string;
  /** As sent; `req.method` says GET for HEAD once routing has begun. */
  readonly method: string;
  /** Path without the query string. */
  readonly path: string;
  /** What follows the `?`, undecoded. */
  readonly search: string;
  readonly startedMs: number;
  /** Whose path it is. */
  readonly surface: Surface;
  /** The client waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean;
  /** Route pattern for logs and metrics. */
  pattern = 'unmatched';
  /** This, `target`, `item` and `caller` are there once the router has found the route. */
  route!: Route;
  /** The decoded path parameter; empty where the path has none. */
  target = '';
  /** The second one. */
  item = '';
  /** Calls made with it belong to the request. */
  caller!: Caller;
  /** Null for an operator's request, and until the key was looked up. */
  identity: Identity | null = null;
  /** When the key was last asked about, on the gateway's clock. */
  identifiedMs = 0;
  /** Null where the route does not need its shape. */
  collection: CollectionRow | null = null;
  /** When it was looked up, on the gateway's clock. */
  resolvedMs = 0;
  query: ReadonlyMap<string, string> = new Map();
  /** The body, owned by this request. */
  bytes = new Uint8Array(0);
  input: RouteInput | null = null;
  /** Of the action. */
  params: unknown = null;
  /** What the action gave. */
  result: unknown = null;
  /** Memory that the body takes, until the action has ended. */
  bodyMemory: MemoryHold | null = null;
  /** Memory that the answer may take, from before it is fetched until it is sent. */
  answerMemory: MemoryHold | null = null;
  /**
   * Why the gateway did not send the rest of an answer that it had begun: the client reads too
   * slowly, or the code of the error that a part failed with. Null: it did not end it.
   */
  cutOff: 'slow_client' | ErrorCode | null = null;
  /** Code of the error that the request got; null if it got none. */
  failedWith: ErrorCode | null = null;
  /** How much of it is taken before the answer is there. */
  expectedBytes = 0;
  /** The place among the requests that are under way, until the action has ended. */
  permit: Permit | null = null;
  /** Waits for a place; null until it is known among which requests. */
  enter: (() => Promise<Permit>) | null = null;
  /**
   * When the request has waited long enough, on the gateway's clock; known once it has come whole.
   */
  deadlineMs = 0;

  constructor(req: IncomingMessage, res: ServerResponse, startedMs: number, awaitsContinue: boolean) {
    this.req = req;
    this.res = res;
    this.startedMs = startedMs;
    this.awaitsContinue = awaitsContinue;
    this.method = req.method ?? 'GET';
    this.id = requestIdOf(req);
    const target = originForm(req.url ?? '/');
    const mark = target.indexOf('?');
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.search = mark < 0 ? '' : target.slice(mark + 1);
    this.surface = surfaceOf(this.path);
  }

  /** The router found its route. */
  routed(route: Route, { target, item }: PathParameters, caller: Caller): void {
    this.route = route;
    this.target = target;
    this.item = item;
    this.caller = caller;
    this.pattern = patternOf(route);
  }

  /** Whose request it is; empty for an operator's, and before that is known. */
  get accountId(): string {
    return this.identity?.accountId ?? '';
  }

  /**
   * Calls `leave` once when the client is gone, also when it is by now; what it returns ends that.
   */
  whenGone(leave: () => void): () => void {
    if (this.res.closed) {
      const leaving = setImmediate(leave);
      return () => clearImmediate(leaving);
    }
    this.res.once('close', leave);
    return () => this.res.off('close', leave);
  }

  /** Ends an answer that has begun; for a client that is gone there is nothing to end. */
  cut(reason: 'slow_client' | ErrorCode): void {
    if (!this.res.destroyed) this.cutOff = reason;
    this.res.destroy();
  }

  /** The action has ended, or will not be called: others may be under way. */
  actionEnded(): void {
    this.permit?.release();
    this.bodyMemory?.release();
  }

  /** Lets go of all that is held for it. */
  ended(): void {
    this.actionEnded();
    this.answerMemory?.release();
  }

  /** The method as a label with few values. */
  get methodLabel(): string {
    return CONTROL_METHODS.has(this.method) ? this.method : 'other';
  }

  /** Whether the request announced a body. */
  get hasBody(): boolean {
    return this.req.headers['transfer-encoding'] !== undefined || this.declaredBytes > 0;
  }

  /** Content-Length; 0 when there is none. */
  get declaredBytes(): number {
    const length = Number(this.req.headers['content-length'] ?? 0);
    return Number.isSafeInteger(length) && length > 0 ? length : 0;
  }
}

/** The client's X-Request-Id when it is sane, else a new UUID. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}

/** A request target as path and query; proxies may send the absolute form. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const url = URL.canParse(target) ? new URL(target) : null;
  return url === null ? target : url.pathname + url.search;
}
