/**
 * The life of a request once its route is found: the steps in their order, the longer ones each in
 * a file of its own. The first that throws decides the answer, so the order is part of the
 * contract: nobody learns what they may not know (whether a collection exists), nobody sends a body
 * for nothing, and a request that is refused because there are too many costs no more than to find
 * out whose it is.
 */
import type { Exchange } from './exchange.ts';
import { parseQueryString } from './query-string.ts';
import { answer } from './steps/answer.ts';
import { authenticate, requireScope } from './steps/authenticate.ts';
import { callAction } from './steps/call-action.ts';
import { decodeBody } from './steps/decode-body.ts';
import { importRecords } from './steps/import-records.ts';
import { readBody } from './steps/read-body.ts';
import { resolveCollection } from './steps/resolve-collection.ts';
import type { Step, StepParts } from './steps/step.ts';
import { waitTurn } from './steps/wait-turn.ts';

const STEPS: readonly Step[] = [
  authenticate,
  limitRate,
  requireScope,
  resolveCollection,
  readQueryString,
  readBody,
  waitTurn,
  decodeBody,
  reserveAnswer,
  callAction,
  answer,
];

/** Those of a request whose body is worked on as it comes. */
const STREAMED_STEPS: readonly Step[] = [
  authenticate,
  limitRate,
  requireScope,
  resolveCollection,
  readQueryString,
  importRecords,
  answer,
];

/** Takes a request from its route to its answer; never rejects. */
export async function runPipeline(exchange: Exchange, parts: StepParts): Promise<void> {
  try {
    for (const step of exchange.route.isStreamed ? STREAMED_STEPS : STEPS) await step(exchange, parts);
  } catch (error) {
    parts.responder.fail(exchange, error);
  }
}

/** Counts the request of a key. Throws RATE_LIMITED. */
async function limitRate({ identity }: Exchange, { rateLimit }: StepParts): Promise<void> {
  if (identity !== null) await rateLimit(identity.keyId);
}

/**
 * Parses the query string, of which only parameters of the route may occur, and takes the route
 * that they choose. Throws INVALID_ARGUMENT.
 */
function readQueryString(exchange: Exchange): void {
  const { route, search } = exchange;
  exchange.query = parseQueryString(search, route.query);
  for (const name of exchange.query.keys()) exchange.route = route.whenGiven[name] ?? exchange.route;
}

/** Takes memory for the vectors that the answer may hold. Throws UNAVAILABLE. */
function reserveAnswer(exchange: Exchange, { overload }: StepParts): void {
  const { accountId, collection, input, route } = exchange;
  if (collection !== null) exchange.expectedBytes = route.expectedBytes(input!, collection.dimensions);
  exchange.answerMemory = overload.answers.take(accountId, exchange.expectedBytes);
}
