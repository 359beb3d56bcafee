import { call } from '../../../lib/actions/call.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { monthOf } from '../../../lib/time/month.ts';
import type { Exchange } from '../exchange.ts';
import { type Head, JSON_HEADERS } from '../responses/sender.ts';
import type { Pieces } from '../responses/splice.ts';
import { nextPart } from './call-action.ts';
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
    const head = headOf(exchange);
    if (typeof answered === 'function') await sendPieces(exchange, parts, head, answered as Pieces);
    else await sendText(exchange, parts, head, answered);
  } catch (error) {
    const count = route.countedQueries(result);
    if (count > 0) giveBackQueries(exchange, parts, count);
    throw error;
  } finally {
    exchange.answerMemory?.release();
  }
}

/** Sends an answer in pieces, and then what the route still reads. */
function sendPieces(exchange: Exchange, parts: StepParts, head: Head, pieces: Pieces): Promise<void> {
  return parts.sender.send(exchange, head, pieces, async () => {
    const next = await nextPart(exchange, parts);
    exchange.answerMemory?.resize(exchange.route.heldBytes(exchange.result));
    return next;
  });
}

/** Sends an answer whose text is made in one piece, which takes the result's place in memory. */
async function sendText(exchange: Exchange, { overload, sender }: StepParts, head: Head, answered: object | null) {
  const body = Buffer.from(answered === null ? '' : JSON.stringify(answered));
  exchange.result = null;
  exchange.answerMemory?.release();
  // Small texts, those of all writes among them, are never refused: connections bound their number.
  const countedBytes = body.byteLength <= INTERNAL_LIMITS.textAnswerUncountedMaxBytes ? 0 : body.byteLength;
  const memory = overload.texts.take(exchange.accountId, countedBytes);
  await sender.send(exchange, head, body).finally(() => memory.release());
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
