import { call } from '../../../contracts/actions/call.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { monthOf } from '../../../lib/time/month.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { Pieces } from '../responses/json-pieces.ts';
import { type Head, JSON_HEADERS } from '../responses/sender.ts';
import { nextPart } from './call-action.ts';
import type { StepParts } from './step.ts';

/**
 * Sends the action's result. Resolves when it is sent or was cut off. Throws UNAVAILABLE if no
 * memory is left for it.
 */
export async function answer(request: RoutedRequest, parts: StepParts): Promise<void> {
  const { result, route } = request;
  try {
    request.answerMemory?.resize(route.heldBytes(result));
    const answered = route.answer(result, request);
    const head = headOf(request);
    if (typeof answered === 'function') await sendPieces(request, parts, head, answered as Pieces);
    else await sendText(request, parts, head, answered);
  } catch (error) {
    const count = route.countedQueries(result);
    if (count > 0) giveBackQueries(request, parts, count);
    throw error;
  } finally {
    request.answerMemory?.release();
  }
}

/** Sends a response in pieces, followed by the parts that the route still reads. */
function sendPieces(request: RoutedRequest, parts: StepParts, head: Head, pieces: Pieces): Promise<void> {
  return parts.sender.send(request, head, pieces, async () => {
    const next = await nextPart(request, parts);
    request.answerMemory?.resize(request.route.heldBytes(request.result));
    return next;
  });
}

/** Sends a response as a single text. Its memory replaces that of the result. */
async function sendText(request: RoutedRequest, parts: StepParts, head: Head, answered: object | null) {
  const body = Buffer.from(answered === null ? '' : JSON.stringify(answered));
  request.result = null;
  request.answerMemory?.release();
  await sendBytes(request, parts, head, body);
}

/** Sends a response that is a single text, with memory reserved until the client has read it. */
export async function sendBytes(request: RoutedRequest, { overload, sender }: StepParts, head: Head, body: Buffer) {
  // Small texts, which include the responses of all writes, are never refused. The limit on
  // connections bounds their number.
  const countedBytes = body.byteLength <= INTERNAL_LIMITS.textAnswerUncountedMaxBytes ? 0 : body.byteLength;
  const memory = overload.texts.take(request.accountId, countedBytes);
  await sender.send(request, head, body).finally(() => memory.release());
}

function headOf(request: RoutedRequest): Head {
  const { result, route } = request;
  const status = route.made?.(result) ? 201 : route.status;
  if (status === 200 || route.location === null) return { status, headers: JSON_HEADERS };
  return { status, headers: { ...JSON_HEADERS, Location: route.location(result, request) } };
}

/**
 * Gives back queries that were counted but could not be answered, in the month in which they
 * arrived: in the next month, this would allow more queries than the plan.
 */
export function giveBackQueries(
  { accountId, caller, startedMs }: RoutedRequest,
  { clock }: StepParts,
  count: number,
): void {
  const month = monthOf(clock.wallMs() - (clock.monotonicMs() - startedMs));
  // Queries that are not given back count as used.
  call(caller, 'metering.giveBackQuery', { accountId, month, count }).catch(() => undefined);
}
