import { call } from '../../../lib/actions/call.ts';
import { monthOf } from '../../../lib/time/month.ts';
import type { Exchange } from '../exchange.ts';
import { FollowingParts } from './following-parts.ts';
import type { StepParts } from './step.ts';

/**
 * Answers with what the action gave, and with what it gives when it is called again for the parts
 * that follow; resolves when it is sent, or cut off. Throws UNAVAILABLE when there is no memory
 * left for it.
 */
export async function answer(exchange: Exchange, parts: StepParts): Promise<void> {
  const following = new FollowingParts(exchange, parts);
  try {
    await parts.responder.succeed(exchange, exchange.route, exchange.result, () => following.next());
  } catch (error) {
    const count = queriesOf(exchange);
    if (count > 0) giveBackQueries(exchange, parts, count);
    throw error;
  } finally {
    following.end();
  }
}

/** How many the plan was charged for. */
function queriesOf({ result, route }: Exchange): number {
  if (route.action === 'collections.query') return 1;
  return route.action === 'collections.queries' ? (result as { results: unknown[] }).results.length : 0;
}

/**
 * For queries that were counted and then could not be answered, in the month in which they came:
 * given back in the next, they would make room for too many.
 */
function giveBackQueries({ accountId, caller, startedMs }: Exchange, { clock }: StepParts, count: number): void {
  const month = monthOf(clock.wallMs() - (clock.monotonicMs() - startedMs));
  call(caller, 'metering.giveBackQuery', { accountId, month, count }).catch(() => {});
}
