/**
 * What happens between routing and the action, in this order: authentication, rate limit, scope,
 * path parameter, collection, query string, bytes of the body, the request's turn among all others,
 * the body's content, memory for the answer. The first check that fails decides the answer, so that
 * nobody learns what they may not know (whether a collection exists), nor sends a body for nothing;
 * and nothing is done for a request that is refused because there are too many but to find out
 * whose it is. Whose key it is may change while it waits: `recheck` comes last, each time before
 * its action is called.
 */
import { type Caller, call } from '../../lib/actions/call.ts';
import type { Identity } from '../../lib/actions/keys.ts';
import type { MemoryBudget } from '../../lib/admission/memory-budget.ts';
import { notFound, ProvecError } from '../../lib/errors.ts';
import { INTERNAL_LIMITS, type Limits } from '../../lib/limits.ts';
import { batchBytes } from '../../lib/records/batch.ts';
import { isCollectionName } from '../../lib/requests/collection-name.ts';
import type { RequestName } from '../../lib/requests/requests.ts';
import type { Metric } from '../../lib/store/catalog.ts';
import { authenticate, authenticateOperator, requireScope } from './authentication.ts';
import type { BodyPool } from './bodies/body-pool.ts';
import { readBody } from './bodies/body-reader.ts';
import type { Bodies } from './bodies/decoders.ts';
import { ClientGoneError } from './client-gone.ts';
import type { Exchange } from './exchange.ts';
import type { Waiter } from './overload/away-lines.ts';
import type { Visitor } from './overload/fair-queue.ts';
import type { OverloadMetrics } from './overload/overload-metrics.ts';
import type { Queues } from './overload/queues.ts';
import { parseQueryString } from './query-string.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Route } from './routes.ts';

const ID = /^[A-Za-z0-9_-]{1,64}$/;

export interface AdmissionParts {
  limits: Limits;
  adminToken: string | null;
  rateLimit: RateLimit;
  bodies: BodyPool;
  /** For bodies and for answers. */
  budget: MemoryBudget;
  answers: MemoryBudget;
  queues: Queues;
  metrics: OverloadMetrics;
  arrivalsMax: number;
  monotonicMs(): number;
  /** Of the calendar. */
  nowMs(): number;
  /**
   * Told how long a body took from when its turn had come until it was checked, waiting for a
   * thread included.
   */
  onParsed(seconds: number): void;
}

/** An action's name and parameters, ready to be called. */
export interface Admitted {
  route: Route;
  params: unknown;
}

type Shape = { dimensions: number; metric: Metric; shards: number };

export class Admission {
  readonly #parts: AdmissionParts;
  #arrivals = 0;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /**
   * Runs every check of a route, and gives the request its seat. `target` is the decoded path
   * parameter. Throws the ProvecError for the client, or ClientGoneError; the caller then ends the
   * exchange.
   */
  async admit(caller: Caller, exchange: Exchange, route: Route, target: string): Promise<Admitted> {
    const { answers, limits, monotonicMs, queues } = this.#parts;
    const accountId = await this.#arrive(route, () => this.#identify(caller, exchange, route));
    if (route.path.includes('{name}') && !isCollectionName(target, limits)) {
      // A name that no collection can have: the same answer as for one that none has.
      throw notFound('COLLECTION_NOT_FOUND');
    }
    if (route.path.includes('{id}') && !ID.test(target)) {
      throw notFound(route.access === 'operator' ? 'ACCOUNT_NOT_FOUND' : 'KEY_NOT_FOUND');
    }
    const shape =
      route.body !== null && route.path.includes('{name}') ? await resolve(caller, accountId, target) : null;
    const query = parseQueryString(exchange.search, route.query);
    const chosen = route.instead(query) ?? route;
    const bytes = await readBody(exchange, limits.bodyMaxBytes, this.#parts.budget);
    if (exchange.res.destroyed) throw new ClientGoneError();
    const visitor = visitorOf(exchange, chosen, shape);
    exchange.deadlineMs = monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
    exchange.enter = () => queues.enter(chosen.queue, visitor);
    exchange.seat = await exchange.enter();
    // Fields where there should be no body are refused, too: they say that something else was
    // meant.
    const kind = route.body ?? (bytes.byteLength > 0 ? 'none' : null);
    const body = kind === null ? null : await this.#decode(exchange, kind, bytes, shape, visitor);
    const input = { accountId, target, query, body, limits };
    const params = chosen.params(input);
    if (shape !== null) {
      exchange.expectedBytes = chosen.expectedBytes(input, shape.dimensions);
      exchange.hold = answers.take(accountId, exchange.expectedBytes);
    }
    return { route: chosen, params };
  }

  /** Bounds how many are asked about at once, whose bounds cannot be told yet. */
  async #arrive<T>(route: Route, identify: () => Promise<T>): Promise<T> {
    const { arrivalsMax, metrics } = this.#parts;
    if (this.#arrivals >= arrivalsMax && route.queue !== 'unshared') {
      metrics.refused('arrivals', 'all full');
      throw new ProvecError('UNAVAILABLE', 'The service is overloaded; send the request again later.', {
        retryAfterSeconds: 1,
      });
    }
    this.#arrivals++;
    try {
      return await identify();
    } finally {
      this.#arrivals--;
    }
  }

  async #identify(caller: Caller, exchange: Exchange, { access }: Route): Promise<string> {
    const { adminToken, rateLimit } = this.#parts;
    if (access === 'operator') {
      if (adminToken === null) throw new Error('an operator route without an operator');
      authenticateOperator(adminToken, exchange.req.headers.authorization);
      return '';
    }
    const identity = await this.#authenticate(caller, exchange);
    await rateLimit.take(identity.keyId);
    requireScope(identity, access);
    return identity.accountId;
  }

  /**
   * Asks once more where a key may have been revoked since it was looked at. Throws as `admit`
   * does.
   */
  async recheck(caller: Caller, exchange: Exchange, { access }: Route): Promise<void> {
    const askedMsAgo = this.#parts.monotonicMs() - exchange.identifiedMs;
    if (access === 'operator' || askedMsAgo <= INTERNAL_LIMITS.keyCacheMaxAgeMs) return;
    requireScope(await this.#authenticate(caller, exchange), access);
  }

  async #authenticate(caller: Caller, exchange: Exchange): Promise<Identity> {
    const askedMs = this.#parts.monotonicMs();
    const identity = await authenticate(caller, exchange.req.headers.authorization);
    exchange.identity = identity;
    exchange.identifiedMs = askedMs;
    return identity;
  }

  async #decode(
    exchange: Exchange,
    kind: RequestName,
    bytes: Uint8Array<ArrayBuffer>,
    shape: Shape | null,
    visitor: Visitor,
  ): Promise<unknown> {
    const { bodies, limits, nowMs, onParsed } = this.#parts;
    const receivedBytes = bytes.byteLength;
    const startedMs = performance.now();
    try {
      const body: unknown = await bodies.decode(kind, bytes, { limits, shape, nowMs: nowMs() }, visitor);
      // What is handed on is there until the action has ended. Small numbers are shorter as text,
      // by half at most.
      exchange.body?.resize(
        kind === 'upsert' ? Math.min(receivedBytes, batchBytes((body as Bodies['upsert']).records)) : receivedBytes,
      );
      return body;
    } finally {
      onParsed((performance.now() - startedMs) / 1000);
    }
  }
}

/** A request that may have to wait for a shard of a collection. */
export function waiterOf(exchange: Exchange, collection: string): Waiter {
  return {
    account: exchange.accountId,
    collection,
    deadlineMs: exchange.deadlineMs,
    whenGone: (leave) => exchange.whenGone(leave),
    leave() {
      exchange.seat?.release();
      exchange.hold?.resize(0);
    },
    async enter() {
      exchange.seat = await exchange.enter!();
      exchange.hold?.resize(exchange.expectedBytes);
    },
  };
}

/** A query is a search in every shard of its collection. */
function visitorOf(exchange: Exchange, { queue }: Route, shape: Shape | null): Visitor {
  return {
    account: exchange.accountId,
    width: queue === 'query' && shape !== null ? shape.shards : 1,
    whenGone: (leave) => exchange.whenGone(leave),
  };
}

async function resolve(caller: Caller, accountId: string, name: string): Promise<Shape> {
  const { dimensions, metric, shards } = await call(caller, 'collections.resolve', { accountId, name });
  return { dimensions, metric, shards };
}
