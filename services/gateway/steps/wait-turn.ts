import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { QueueRequest } from '../overload/fair-queue.ts';
import { type QueueName, scanWidth } from '../overload/queues.ts';
import type { RequestContext } from '../request-context.ts';
import type { StepParts } from './step.ts';

/** Waits for the request's turn in its queue. Throws UNAVAILABLE. */
export async function waitTurn(exchange: RequestContext, { clock, overload }: StepParts): Promise<void> {
  const request = queueRequestOf(exchange);
  exchange.deadlineMs = clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  exchange.enter = () => overload.queues[exchange.route.queue].enter(request);
  exchange.permit = await exchange.enter();
}

/**
 * Waits for the permits of a request whose body says that it reads every shard: a dry run among the
 * queries, because it writes nothing; a delete or an update by filter in its own queue. Throws
 * UNAVAILABLE.
 */
export async function waitForShards(exchange: RequestContext, { overload }: StepParts): Promise<void> {
  const found = readingOf(exchange);
  if (found === null) return;
  const [queue, width] = found;
  const request = { ...queueRequestOf(exchange), width };
  exchange.permit?.release();
  exchange.enter = () => overload.queues[queue].enter(request);
  exchange.permit = await exchange.enter();
}

/** The queue and the permits to wait for; null if the request has its permits already. */
function readingOf(exchange: RequestContext): [queue: QueueName, width: number] | null {
  const { collection, input, route } = exchange;
  const shards = collection?.shards ?? 1;
  if (isDryRun(exchange)) return ['query', shards];
  const { filter, all } = (input?.body ?? {}) as { filter?: unknown; all?: unknown };
  if (route.access !== 'write' || (filter === undefined && all === undefined)) return null;
  return [route.queue, route.queue === 'unshared' ? scanWidth(shards) : shards];
}

export const isDryRun = ({ input }: RequestContext): boolean =>
  (input?.body as { dryRun?: boolean } | null | undefined)?.dryRun === true;

export function queueRequestOf(exchange: RequestContext): QueueRequest {
  const { accountId, collection, route } = exchange;
  return {
    account: accountId,
    width: route.width(collection?.shards ?? 1),
    whenGone: (leave) => exchange.whenGone(leave),
  };
}
