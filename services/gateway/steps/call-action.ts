import assert from 'node:assert/strict';
import type { ActionName } from '../../../contracts/actions/call.ts';
import { Cancelled } from '../../../contracts/actions/cancelled.ts';
import type { Origin } from '../../../contracts/actions/origin.ts';
import type { Principal } from '../../../contracts/actions/principal.ts';
import type { Consistency } from '../../../contracts/requests/vector-requests.ts';
import { ProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { clientAddressOf } from '../client-address.ts';
import { ClientGoneError } from '../client-gone.ts';
import { SHARD_WAIT_MS, type Waiter } from '../overload/shard-waits.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { Pieces } from '../responses/json-pieces.ts';
import type { RouteCall } from '../route.ts';
import { identify, requireScopes } from './authenticate.ts';
import { identifyLink } from './identify-link.ts';
import type { StepParts } from './step.ts';
import { enterQueue, isDryRun } from './wait-turn.ts';

const OVER = `The request exceeded its time limit of ${INTERNAL_LIMITS.actionTimeoutMs / 1_000} s; try again later.`;

/**
 * Calls the route's action, and again when an unavailable shard is back. Before each call,
 * authenticates again if that was more than half a second ago, since the key may have been revoked
 * while the request waited. Read-only work ends when the client disconnects or with the first
 * error. Throws the errors of the action and of those steps.
 */
export async function callAction(request: RoutedRequest, parts: StepParts): Promise<void> {
  const { params, route } = request;
  const attempt = (options: CallOptions): Promise<unknown> => {
    if (route.perform !== null) return route.perform(request, callsWithin(request, parts, options));
    return callOnce(request, parts, route.action, forCollection(request, parts, params), options);
  };
  const act = (signal?: AbortSignal): Promise<unknown> =>
    route.mayBeAway
      ? retryUnavailableShards(request, parts, (options) => attempt({ ...options, signal }))
      : attempt(signal === undefined ? {} : { signal });
  request.result = await (isAbortable(request) ? untilDisconnect(request, act) : act());
  request.actionEnded();
}

/**
 * Reads the next part of a response that is being sent. Returns null after the last part, and for
 * HEAD. Throws the errors of `callAction`.
 */
export function nextPart(request: RoutedRequest, parts: StepParts): Promise<Pieces | null> {
  const { method, result } = request;
  const { more } = request.route;
  if (more === null || method === 'HEAD') return Promise.resolve(null);
  request.deadlineMs = parts.clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  return untilDisconnect(request, (signal) => more(result, callsInTurn(request, parts, signal)));
}

/**
 * Returns a function that makes the calls for a later part. Each call waits for a permit, holds it
 * until it ends, and waits for unavailable shards. The calls must not overlap: the request has one
 * permit.
 */
function callsInTurn(request: RoutedRequest, parts: StepParts, signal: AbortSignal): RouteCall {
  let isCalling = false;
  const calling = async (action: ActionName, given: never): Promise<unknown> => {
    assert(!isCalling);
    isCalling = true;
    const attempt = (options: CallOptions): Promise<unknown> =>
      callsWithin(request, parts, { ...options, signal })(action, given);
    try {
      return await withPermit(request, parts, () =>
        request.route.mayBeAway ? retryUnavailableShards(request, parts, attempt) : attempt({}),
      );
    } finally {
      isCalling = false;
    }
  };
  return calling as RouteCall;
}

/**
 * Runs `act`, which reads a later part of the response, with a permit. The wait for the permit does
 * not count towards the time limit of the part: if the response has begun, only the client ends it.
 */
export async function withPermit<T>(request: RoutedRequest, parts: StepParts, act: () => Promise<T>): Promise<T> {
  const { clock } = parts;
  const askedMs = clock.monotonicMs();
  const permit = await enterQueue(request, parts);
  request.deadlineMs += clock.monotonicMs() - askedMs;
  try {
    return await act();
  } finally {
    permit.release();
  }
}

/** Returns a function that makes the calls of a route. Together, the calls get the time of one. */
function callsWithin(request: RoutedRequest, parts: StepParts, options: CallOptions): RouteCall {
  const { deadlineMs, route } = request;
  const calling = (action: ActionName, given: unknown): Promise<unknown> => {
    const own = forCollection(request, parts, given);
    // Writes set their own timeout: cutting one short would not undo it.
    if (route.access !== 'read' || route.timeoutMs !== null) return callOnce(request, parts, action, own, options);
    const leftMs = Math.ceil(deadlineMs - parts.clock.monotonicMs());
    if (leftMs <= 0) return Promise.reject(new ProvecError('UNAVAILABLE', OVER));
    return callOnce(request, parts, action, own, { timeout: leftMs, ...options });
  };
  return calling as RouteCall;
}

/**
 * Returns true for work that may be aborted. A verification runs to its end, since other requests
 * may wait for the same result.
 */
function isAbortable(request: RoutedRequest): boolean {
  const { access, queue } = request.route;
  return isDryRun(request) || ((access === 'read' || access === 'link') && queue !== 'verify');
}

/**
 * Returns the result of `act`. Its signal aborts when the client disconnects (ClientGoneError), and
 * when `act` fails, so that nothing it started continues.
 */
export async function untilDisconnect<T>(
  request: Pick<RoutedRequest, 'whenGone'>,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const work = new AbortController();
  const stopWatching = request.whenGone(() => work.abort(new ClientGoneError()));
  try {
    return await act(work.signal);
  } catch (error) {
    work.abort(new Cancelled(false));
    throw error;
  } finally {
    stopWatching();
  }
}

/** Calls the route's action once, after checking that the key is still valid. */
export async function attemptCall(
  request: RoutedRequest,
  parts: StepParts,
  params: unknown,
  options: CallOptions = {},
): Promise<unknown> {
  return callOnce(request, parts, request.route.action, params, options);
}

async function callOnce(
  request: RoutedRequest,
  parts: StepParts,
  action: ActionName,
  params: unknown,
  options: CallOptions,
): Promise<unknown> {
  const { caller, route } = request;
  await reauthenticate(request, parts);
  // Without a timeout of the route, the action's own applies; one set here could cut a write short.
  const timeout = route.timeoutMs === null ? {} : { timeout: route.timeoutMs };
  const meta = { ...principalOf(request), ...originOf(request, parts), ...options.meta };
  return caller.call(action, params, { ...timeout, ...options, meta });
}

interface CallOptions {
  timeout?: number;
  signal?: AbortSignal | undefined;
  meta?: object;
}

/**
 * Adds the collection that the body was decoded for. If its row may be stale, adds only its id, so
 * that the action looks the row up again by id, not by name.
 */
function forCollection({ collection, resolvedMs }: RoutedRequest, { clock }: StepParts, params: unknown): unknown {
  if (collection === null) return params;
  const isKnown = clock.monotonicMs() - resolvedMs <= INTERNAL_LIMITS.keyCacheMaxAgeMs;
  return { ...(params as object), ...(isKnown ? { collection } : { collectionId: collection.id }) };
}

/** Identity of the request, passed on to the calls that the action makes. */
function principalOf({ identity }: RoutedRequest): { principal?: Principal } {
  return identity === null ? {} : { principal: { accountId: identity.accountId, plan: identity.plan } };
}

/** Says who makes a change, for the audit trail. */
function originOf({ id, identity, req, route }: RoutedRequest, { config }: StepParts): { origin?: Origin } {
  if (route.access !== 'manage' && route.access !== 'operator') return {};
  const address = clientAddressOf(req, config.trustedProxies);
  return { origin: { keyId: identity?.keyId ?? null, address, requestId: id } };
}

async function reauthenticate(request: RoutedRequest, parts: StepParts): Promise<void> {
  const askedMsAgo = parts.clock.monotonicMs() - request.identifiedMs;
  if (request.route.access === 'operator' || askedMsAgo <= INTERNAL_LIMITS.keyCacheMaxAgeMs) return;
  await (request.route.access === 'link' ? identifyLink : identify)(request, parts);
  requireScopes(request);
}

interface ReadConsistency {
  allowPartial?: boolean;
  consistency?: Consistency;
}

const isStrongRead = ({ allowPartial, consistency }: ReadConsistency): boolean =>
  allowPartial !== true && consistency !== 'eventual';

function retryUnavailableShards(
  request: RoutedRequest,
  parts: StepParts,
  attempt: (options: CallOptions) => Promise<unknown>,
): Promise<unknown> {
  const terms = (request.body ?? {}) as ReadConsistency & { queries?: ReadConsistency[] };
  // Other reads try first: replicas may answer them, or partial results may be enough.
  const isStrong = (terms.queries ?? [terms]).some(isStrongRead);
  const needsAll = request.route.queue === 'query' && isStrong;
  return parts.overload.shardWaits.run(waiterOf(request, parts), needsAll, (leftMs) =>
    attempt({ meta: { shardWaitMs: SHARD_WAIT_MS }, ...(leftMs !== null && { timeout: leftMs }) }),
  );
}

/**
 * Returns the request as a waiter for a shard. While it waits, it holds no permit, and no memory
 * for its response unless the response has begun: the gateway then still holds the previous part.
 */
function waiterOf(request: RoutedRequest, parts: StepParts): Waiter {
  const reserve = (bytes: number): void => {
    if (request.result === null) request.answerMemory?.resize(bytes);
  };
  return {
    account: request.accountId,
    collection: request.collection?.name ?? request.target,
    collectionId: request.collection?.id,
    deadlineMs: request.deadlineMs,
    whenGone: (leave) => request.whenGone(leave),
    leave() {
      request.permit?.release();
      reserve(0);
    },
    async enter() {
      await enterQueue(request, parts);
      reserve(request.expectedBytes);
    },
  };
}
