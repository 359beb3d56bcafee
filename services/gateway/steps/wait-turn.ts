import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Exchange } from '../exchange.ts';
import type { QueueRequest } from '../overload/fair-queue.ts';
import type { StepParts } from './step.ts';

/** Waits for the request's turn in its queue. Throws UNAVAILABLE. */
export async function waitTurn(exchange: Exchange, { clock, overload }: StepParts): Promise<void> {
  const request = queueRequestOf(exchange);
  exchange.deadlineMs = clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  exchange.enter = () => overload.queues[exchange.route.queue].enter(request);
  exchange.permit = await exchange.enter();
}

/**
 * Moves a dry run from its route's queue to the queue of searches, since it reads every shard and
 * writes nothing. Throws UNAVAILABLE.
 */
export async function waitAmongQueries(exchange: Exchange, { overload }: StepParts): Promise<void> {
  if (!isDryRun(exchange)) return;
  const request = { ...queueRequestOf(exchange), width: exchange.collection?.shards ?? 1 };
  exchange.permit?.release();
  exchange.enter = () => overload.queues.query.enter(request);
  exchange.permit = await exchange.enter();
}

export const isDryRun = ({ input }: Exchange): boolean =>
  (input?.body as { dryRun?: boolean } | null | undefined)?.dryRun === true;

export function queueRequestOf(exchange: Exchange): QueueRequest {
  const { accountId, collection, route } = exchange;
  return {
    account: accountId,
    width: route.width(collection?.shards ?? 1),
    whenGone: (leave) => exchange.whenGone(leave),
  };
}
