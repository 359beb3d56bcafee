import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Permit, QueueRequest } from '../overload/fair-queue.ts';
import type { Overload } from '../overload/overload.ts';
import { bodyWidth, type QueueName } from '../overload/queues.ts';
import type { RequestContext } from '../request-context.ts';
import type { StepParts } from './step.ts';

/** Waits for the request's turn in its queue. Throws UNAVAILABLE. */
export async function waitTurn(exchange: RequestContext, { clock, overload }: StepParts): Promise<void> {
  exchange.deadlineMs = clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  await enter(exchange, overload);
}

/**
 * Waits again if the body needs another queue or other permits than the request was given before
 * the body was decoded. Throws UNAVAILABLE.
 */
export async function adjustTurn(exchange: RequestContext, { overload }: StepParts): Promise<void> {
  const { queue, width } = exchange.turn!;
  if (queueOf(exchange) === queue && widthOf(exchange) === width) return;
  exchange.permit?.release();
  await enter(exchange, overload);
}

async function enter(exchange: RequestContext, { queues }: Overload): Promise<void> {
  const request = queueRequestOf(exchange);
  const queue = queueOf(exchange);
  const again = (): Promise<Permit> => queues[queue].enter({ ...request, hasBegun: exchange.res.headersSent });
  exchange.turn = { queue, width: request.width, enter: again };
  exchange.permit = await exchange.turn.enter();
}

/** A dry run waits among the queries, since it writes nothing and reads every shard as they do. */
const queueOf = (exchange: RequestContext): QueueName => (isDryRun(exchange) ? 'query' : exchange.route.queue);

function widthOf(exchange: RequestContext): number {
  const { bodyBytes, collection, input, route } = exchange;
  const shards = collection?.shards ?? 1;
  const width = isDryRun(exchange) ? shards : route.width(shards, input?.body ?? null, exchange);
  return queueOf(exchange) === 'query' ? Math.max(width, bodyWidth(bodyBytes)) : width;
}

export const isDryRun = ({ input }: Pick<RequestContext, 'input'>): boolean =>
  (input?.body as { dryRun?: boolean } | null | undefined)?.dryRun === true;

export function queueRequestOf(exchange: RequestContext): QueueRequest {
  return {
    account: exchange.accountId,
    width: widthOf(exchange),
    whenGone: (leave) => exchange.whenGone(leave),
  };
}
