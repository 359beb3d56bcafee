import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Permit, QueueRequest } from '../overload/fair-queue.ts';
import { bodyWidth, type QueueName } from '../overload/queues.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { StepParts } from './step.ts';

/** Waits for the request's turn in its queue. Throws UNAVAILABLE. */
export async function waitTurn(request: RoutedRequest, parts: StepParts): Promise<void> {
  request.deadlineMs = parts.clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  await enterQueue(request, parts);
}

/**
 * Waits again if the body needs another queue or other permits than the request was given before
 * the body was decoded. Throws UNAVAILABLE.
 */
export async function adjustTurn(request: RoutedRequest, parts: StepParts): Promise<void> {
  const { permit, turn } = request;
  if (turn?.queue === queueOf(request) && turn.width === widthOf(request)) return;
  permit?.release();
  await enterQueue(request, parts);
}

/** Returns the permit for which the request has waited in its queue. Throws UNAVAILABLE. */
export async function enterQueue(request: RoutedRequest, { overload }: StepParts): Promise<Permit> {
  const queue = queueOf(request);
  const asked = { ...queueRequestOf(request), hasBegun: request.res.headersSent };
  request.turn = { queue, width: asked.width };
  request.permit = await overload.queues[queue].enter(asked);
  return request.permit;
}

/** A dry run waits among the queries, since it writes nothing and reads every shard as they do. */
const queueOf = (request: RoutedRequest): QueueName => (isDryRun(request) ? 'query' : request.route.queue);

function widthOf(request: RoutedRequest): number {
  const { body, bodyBytes, collection, route } = request;
  const shards = collection?.shards ?? 1;
  const width = isDryRun(request) ? shards : route.width(shards, body, request);
  return queueOf(request) === 'query' ? Math.max(width, bodyWidth(bodyBytes)) : width;
}

export const isDryRun = ({ body }: Pick<RoutedRequest, 'body'>): boolean =>
  (body as { dryRun?: boolean } | null)?.dryRun === true;

export function queueRequestOf(request: RoutedRequest): QueueRequest {
  return {
    account: request.accountId,
    width: widthOf(request),
    whenGone: (leave) => request.whenGone(leave),
  };
}
