import { call } from '../../../lib/actions/call.ts';
import { monthOf } from '../../../lib/time/month.ts';
import type { Exchange } from '../exchange.ts';
import type { StepParts } from './step.ts';

/** Answers with what the action gave. Throws UNAVAILABLE when there is no memory left for it. */
export function answer(exchange: Exchange, parts: StepParts): void {
  try {
    parts.responder.succeed(exchange, exchange.route, exchange.result);
  } catch (error) {
    if (exchange.route.action === 'collections.query') giveBackQuery(exchange, parts);
    throw error;
  }
}

/**
 * For a query that was counted and then could not be answered, in the month in which it came: given
 * back in the next, it would make room for one too many.
 */
function giveBackQuery({ accountId, caller, startedMs }: Exchange, { clock }: StepParts): void {
  const month = monthOf(clock.wallMs() - (clock.monotonicMs() - startedMs));
  call(caller, 'metering.giveBackQuery', { accountId, month }).catch(() => {});
}
