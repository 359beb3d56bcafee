import type { ActionName } from '../../../lib/actions/call.ts';
import { Cancelled } from '../../../lib/actions/cancelled.ts';
import type { Consistency } from '../../../lib/actions/collections.ts';
import type { Principal } from '../../../lib/actions/principal.ts';
import { ProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { ClientGoneError } from '../client-gone.ts';
import type { Exchange } from '../exchange.ts';
import { SHARD_WAIT_MS, type Waiter } from '../overload/shard-waits.ts';
import type { Pieces } from '../responses/splice.ts';
import type { RouteCall } from '../route.ts';
import { identify, requireScopes } from './authenticate.ts';
import type { StepParts } from './step.ts';
import { isDryRun } from './wait-turn.ts';

const OVER = `The request took longer than the ${INTERNAL_LIMITS.actionTimeoutMs / 1_000} s that it may; try again later.`;

/**
 * Calls the route's action; where a shard is away, again once that is back. What was asked of the
 * key more than half a second ago is asked anew each time: it may have been revoked while the
 * request waited. Work that changes nothing ends when the client leaves, or with the first error.
 * Throws as the action does, or as those steps do.
 */
export async function callAction(exchange: Exchange, parts: StepParts): Promise<void> {
  const { input, params, route } = exchange;
  const attempt = (options: CallOptions): Promise<unknown> => {
    if (route.perform !== null) return route.perform(input!, callsWithin(exchange, parts, options));
    return callOnce(exchange, parts, route.action, forCollection(exchange, parts, params), options);
  };
  const act = (signal?: AbortSignal): Promise<unknown> =>
    route.mayBeAway
      ? whenBack(exchange, parts, (options) => attempt({ ...options, signal }))
      : attempt(signal === undefined ? {} : { signal });
  exchange.result = await (changesNothing(exchange) ? whileThere(exchange, act) : act());
  exchange.actionEnded();
}

/**
 * Reads the next part of an answer that is being sent. Returns null after the last part, and to
 * HEAD. Throws as `callAction` does.
 */
export function nextPart(exchange: Exchange, parts: StepParts): Promise<Pieces | null> {
  const { method, result, route } = exchange;
  if (route.more === null || method === 'HEAD') return Promise.resolve(null);
  exchange.deadlineMs = parts.clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  return whileThere(exchange, (signal) => route.more!(result, callsInTurn(exchange, parts, signal)));
}

/**
 * Calls of a later part. Each waits for a permit, holds it until it ends, and waits for shards that
 * are away.
 */
function callsInTurn(exchange: Exchange, parts: StepParts, signal: AbortSignal): RouteCall {
  const calling = async (action: ActionName, given: never): Promise<unknown> => {
    exchange.permit = await exchange.enter!();
    const attempt = (options: CallOptions): Promise<unknown> =>
      callsWithin(exchange, parts, { ...options, signal })(action, given);
    try {
      return await (exchange.route.mayBeAway ? whenBack(exchange, parts, attempt) : attempt({}));
    } finally {
      exchange.permit?.release();
    }
  };
  return calling as RouteCall;
}

/** Calls of a route that makes several, which share the time that a call of one has. */
function callsWithin(exchange: Exchange, parts: StepParts, options: CallOptions): RouteCall {
  const { deadlineMs, route } = exchange;
  const calling = (action: ActionName, given: unknown): Promise<unknown> => {
    const own = forCollection(exchange, parts, given);
    // A write answers in its own time: to cut it short would not end it.
    if (route.access !== 'read' || route.timeoutMs !== null) return callOnce(exchange, parts, action, own, options);
    const leftMs = Math.ceil(deadlineMs - parts.clock.monotonicMs());
    if (leftMs <= 0) return Promise.reject(new ProvecError('UNAVAILABLE', OVER));
    return callOnce(exchange, parts, action, own, { timeout: leftMs, ...options });
  };
  return calling as RouteCall;
}

/** A verify runs to its end: other requests may wait for the same result. */
function changesNothing(exchange: Exchange): boolean {
  const { access, queue } = exchange.route;
  return isDryRun(exchange) || (access === 'read' && queue !== 'verify');
}

/**
 * What `act` gives. Its signal aborts when the client leaves (ClientGoneError), and when it failed,
 * so that nothing of what it began goes on.
 */
async function whileThere<T>(
  exchange: Pick<Exchange, 'whenGone'>,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const work = new AbortController();
  const stopWatching = exchange.whenGone(() => work.abort(new ClientGoneError()));
  try {
    return await act(work.signal);
  } catch (error) {
    work.abort(new Cancelled(false));
    throw error;
  } finally {
    stopWatching();
  }
}

/** Calls the route's action once, when the key still holds. */
export async function attemptCall(
  exchange: Exchange,
  parts: StepParts,
  params: unknown,
  options: CallOptions = {},
): Promise<unknown> {
  return callOnce(exchange, parts, exchange.route.action, params, options);
}

async function callOnce(
  exchange: Exchange,
  parts: StepParts,
  action: ActionName,
  params: unknown,
  options: CallOptions,
): Promise<unknown> {
  const { caller, route } = exchange;
  await recheck(exchange, parts);
  // Where the route has no time-out, the action's own holds: one set here would cut a write short
  // that answers in its own time.
  const timeout = route.timeoutMs === null ? {} : { timeout: route.timeoutMs };
  const meta = { ...principalOf(exchange), ...options.meta };
  return caller.call(action, params, { ...timeout, ...options, meta });
}

interface CallOptions {
  timeout?: number;
  signal?: AbortSignal | undefined;
  meta?: object;
}

/**
 * With the collection that its body was read for, while what was asked of it still holds; later
 * with its id alone, whatever has the name by then.
 */
function forCollection({ collection, resolvedMs }: Exchange, { clock }: StepParts, params: unknown): unknown {
  if (collection === null) return params;
  const isKnown = clock.monotonicMs() - resolvedMs <= INTERNAL_LIMITS.keyCacheMaxAgeMs;
  return { ...(params as object), ...(isKnown ? { collection } : { collectionId: collection.id }) };
}

/** Whose request it is, for whatever the action calls in its turn. */
function principalOf({ identity }: Exchange): { principal?: Principal } {
  return identity === null ? {} : { principal: { accountId: identity.accountId, plan: identity.plan } };
}

async function recheck(exchange: Exchange, parts: StepParts): Promise<void> {
  const askedMsAgo = parts.clock.monotonicMs() - exchange.identifiedMs;
  if (exchange.route.access === 'operator' || askedMsAgo <= INTERNAL_LIMITS.keyCacheMaxAgeMs) return;
  await identify(exchange, parts);
  requireScopes(exchange);
}

interface ReadTerms {
  allowPartial?: boolean;
  consistency?: Consistency;
}

const isStrongRead = ({ allowPartial, consistency }: ReadTerms): boolean =>
  allowPartial !== true && consistency !== 'eventual';

function whenBack(
  exchange: Exchange,
  { overload }: StepParts,
  attempt: (options: CallOptions) => Promise<unknown>,
): Promise<unknown> {
  const terms = (exchange.input?.body ?? {}) as ReadTerms & { queries?: ReadTerms[] };
  // Others find out for themselves: copies may answer, or the rest is enough.
  const isStrong = (terms.queries ?? [terms]).some(isStrongRead);
  const needsAll = exchange.route.queue === 'query' && isStrong;
  return overload.away.run(waiterOf(exchange), needsAll, (leftMs) =>
    attempt({ meta: { shardWaitMs: SHARD_WAIT_MS }, ...(leftMs !== null && { timeout: leftMs }) }),
  );
}

/**
 * The request, as it waits for a shard. It releases its permit meanwhile, and the memory reserved
 * for its answer unless the answer has begun: then the gateway still holds the previous part.
 */
function waiterOf(exchange: Exchange): Waiter {
  const reserve = (bytes: number): void => {
    if (exchange.result === null) exchange.answerMemory?.resize(bytes);
  };
  return {
    account: exchange.accountId,
    collection: exchange.collection?.name ?? exchange.target,
    deadlineMs: exchange.deadlineMs,
    whenGone: (leave) => exchange.whenGone(leave),
    leave() {
      exchange.permit?.release();
      reserve(0);
    },
    async enter() {
      exchange.permit = await exchange.enter!();
      reserve(exchange.expectedBytes);
    },
  };
}
