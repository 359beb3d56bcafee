import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Permit, QueueRequest } from '../overload/fair-queue.ts';
import type { Overload } from '../overload/overload.ts';
import { bodyWidth, type QueueName } from '../overload/queues.ts';
import type { RequestContext } from '../request-context.ts';
import type { StepParts } from './step.ts';

/** Waits for the request's turn in its queue. Throws UNAVAILABLE. */
export async function waitTurn(request: RequestContext, { clock, overload }: StepParts): Promise<void> {
  request.deadlineMs = clock.monotonicMs() + INTERNAL_LIMITS.actionTimeoutMs;
  await enter(request, overload);
}

/**
 * Waits again if the body needs another queue or other permits than the request was given before
 * the body was decoded. Throws UNAVAILABLE.
 */
export async function adjustTurn(request: RequestContext, { overload }: StepParts): Promise<void> {
  const { queue, width } = request.turn!;
  if (queueOf(request) === queue && widthOf(request) === width) return;
  request.permit?.release();
  await enter(request, overload);
}

async function enter(context: RequestContext, { queues }: Overload): Promise<void> {
  const request = queueRequestOf(context);
  const queue = queueOf(context);
  const again = (): Promise<Permit> => queues[queue].enter({ ...request, hasBegun: context.res.headersSent });
  context.turn = { queue, width: request.width, enter: again };
  context.permit = await context.turn.enter();
}

/** A dry run waits among the queries, since it writes nothing and reads every shard as they do. */
const queueOf = (request: RequestContext): QueueName => (isDryRun(request) ? 'query' : request.route.queue);

function widthOf(request: RequestContext): number {
  const { bodyBytes, collection, input, route } = request;
  const shards = collection?.shards ?? 1;
  const width = isDryRun(request) ? shards : route.width(shards, input?.body ?? null, request);
  return queueOf(request) === 'query' ? Math.max(width, bodyWidth(bodyBytes)) : width;
}

export const isDryRun = ({ input }: Pick<RequestContext, 'input'>): boolean =>
  (input?.body as { dryRun?: boolean } | null | undefined)?.dryRun === true;

export function queueRequestOf(request: RequestContext): QueueRequest {
  return {
    account: request.accountId,
    width: widthOf(request),
    whenGone: (leave) => request.whenGone(leave),
  };
}
