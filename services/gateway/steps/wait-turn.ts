import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Exchange } from '../exchange.ts';
import type { QueueRequest } from '../overload/fair-queue.ts';
import type { StepParts } from './step.ts';

/** Waits for the request's turn among all others of its kind. Throws UNAVAILABLE. */
export async function waitTurn(exchange: Exchange, { clock, overload }: StepParts): Promise<void> {
  const request = queueRequestOf(exchange);
  exchange.deadlineMs = clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  exchange.enter = () => overload.queues[exchange.route.queue].enter(request);
  exchange.permit = await exchange.enter();
}

/** A query takes a place for each shard of its collection that it searches. */
export function queueRequestOf(exchange: Exchange): QueueRequest {
  const { accountId, collection, route } = exchange;
  return {
    account: accountId,
    width: route.queue === 'query' && collection !== null ? collection.shards : 1,
    whenGone: (leave) => exchange.whenGone(leave),
  };
}
