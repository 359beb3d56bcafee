import type { Exchange } from '../exchange.ts';
import type { StepParts } from './step.ts';

/** Takes memory for the vectors that the answer may hold. Throws UNAVAILABLE. */
export function reserveAnswer(exchange: Exchange, { overload }: StepParts): void {
  const { accountId, collection, input, route } = exchange;
  if (collection === null) return;
  exchange.expectedBytes = route.expectedBytes(input!, collection.dimensions);
  exchange.answerMemory = overload.answers.take(accountId, exchange.expectedBytes);
}
