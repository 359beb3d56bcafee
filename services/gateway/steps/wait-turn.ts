import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Exchange } from '../exchange.ts';
import type { Visitor } from '../overload/fair-queue.ts';
import type { StepParts } from './step.ts';

/** Waits for the request's turn among all others of its kind. Throws UNAVAILABLE. */
export async function waitTurn(exchange: Exchange, { clock, overload }: StepParts): Promise<void> {
  const visitor = visitorOf(exchange);
  exchange.deadlineMs = clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  exchange.enter = () => overload.queues.enter(exchange.route.queue, visitor);
  exchange.seat = await exchange.enter();
}

/** A query takes a place for each shard of its collection that it searches. */
export function visitorOf(exchange: Exchange): Visitor {
  const { accountId, collection, route } = exchange;
  return {
    account: accountId,
    width: route.queue === 'query' && collection !== null ? collection.shards : 1,
    whenGone: (leave) => exchange.whenGone(leave),
  };
}
