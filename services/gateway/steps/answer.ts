import { call } from '../../../lib/actions/call.ts';
import { monthOf } from '../../../lib/time/month.ts';
import type { Exchange } from '../exchange.ts';
import { type Head, JSON_HEADERS } from '../responses/sender.ts';
import type { Pieces } from '../responses/splice.ts';
import type { StepParts } from './step.ts';

/**
 * Answers with what the action gave; resolves when it is sent, or cut off. Throws UNAVAILABLE when
 * there is no memory left for it.
 */
export async function answer(exchange: Exchange, parts: StepParts): Promise<void> {
  const { input, result, route } = exchange;
  try {
    exchange.answerMemory?.resize(route.heldBytes(result));
    const answered = route.answer(result, input!);
    const content = typeof answered === 'function' ? (answered as Pieces) : answered && JSON.stringify(answered);
    await parts.sender.send(exchange, headOf(exchange), content ?? '');
  } catch (error) {
    const count = route.countedQueries(result);
    if (count > 0) giveBackQueries(exchange, parts, count);
    throw error;
  } finally {
    exchange.answerMemory?.release();
  }
}

function headOf({ input, result, route }: Exchange): Head {
  const status = route.made?.(result) ? 201 : route.status;
  if (status === 200 || route.location === null) return { status, headers: JSON_HEADERS };
  return { status, headers: { ...JSON_HEADERS, Location: route.location(result, input) } };
}

/**
 * For queries that were counted and then could not be answered, in the month in which they came:
 * given back in the next, they would make room for too many.
 */
function giveBackQueries({ accountId, caller, startedMs }: Exchange, { clock }: StepParts, count: number): void {
  const month = monthOf(clock.wallMs() - (clock.monotonicMs() - startedMs));
  call(caller, 'metering.giveBackQuery', { accountId, month, count }).catch(() => {});
}
