/**
 * The life of a request once its route is found: the steps in their order, the longer ones each in
 * a file of its own. The first that throws decides the answer, so the order is part of the
 * contract: nobody learns what they may not know (whether a collection exists), nobody sends a body
 * for nothing, and a request that is refused because there are too many costs no more than to find
 * out whose it is.
 */
import { call } from '../../lib/actions/call.ts';
import { notFound } from '../../lib/errors.ts';
import { isCollectionName } from '../../lib/requests/collection-name.ts';
import type { Exchange } from './exchange.ts';
import type { Route } from './route.ts';
import { answer } from './steps/answer.ts';
import { authenticate, requireScopes } from './steps/authenticate.ts';
import { callAction } from './steps/call-action.ts';
import { decodeBody } from './steps/decode-body.ts';
import { exportRecords } from './steps/export-records.ts';
import { importRecords } from './steps/import-records.ts';
import { readBody } from './steps/read-body.ts';
import type { Step, StepParts } from './steps/step.ts';
import { waitAmongQueries, waitTurn } from './steps/wait-turn.ts';

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Up to the action's result. */
const CALL_STEPS: readonly Step[] = [
  authenticate,
  limitRate,
  requireScopes,
  resolveCollection,
  readQueryString,
  readBody,
  waitTurn,
  decodeBody,
  requireScopes,
  waitAmongQueries,
  reserveAnswer,
  callAction,
];

/** Of nearly every request. */
const STEPS: readonly Step[] = [...CALL_STEPS, answer];

/** Of an export, whose answer is sent part by part. */
const EXPORT_STEPS: readonly Step[] = [...CALL_STEPS, exportRecords];

/** Of an import, whose body is worked on as it comes. */
const IMPORT_STEPS: readonly Step[] = [
  authenticate,
  limitRate,
  requireScopes,
  resolveCollection,
  readQueryString,
  importRecords,
  answer,
];

function stepsOf({ streams }: Route): readonly Step[] {
  if (streams === null) return STEPS;
  return streams === 'request' ? IMPORT_STEPS : EXPORT_STEPS;
}

/** Takes a request from its route to its answer; never rejects. */
export async function runPipeline(exchange: Exchange, parts: StepParts): Promise<void> {
  try {
    for (const step of stepsOf(exchange.route)) await step(exchange, parts);
  } catch (error) {
    parts.responder.fail(exchange, error);
  }
}

/** Counts the request of a key. Throws RATE_LIMITED. */
async function limitRate({ identity }: Exchange, { rateLimit }: StepParts): Promise<void> {
  if (identity !== null) await rateLimit(identity.keyId);
}

/**
 * Looks up the collection that the path names, where its shape decides how the body is read. A name
 * or id that nothing can have gets the answer of one that nothing has. Throws the 404 of the route.
 */
async function resolveCollection(exchange: Exchange, { clock, config }: StepParts): Promise<void> {
  const { accountId, caller, route, target } = exchange;
  if (!route.path.includes('{name}')) {
    if (!route.path.includes('{id}') || ID.test(target)) return;
    throw notFound(route.access === 'operator' ? 'ACCOUNT_NOT_FOUND' : 'KEY_NOT_FOUND');
  }
  if (!isCollectionName(target, config.limits)) throw notFound('COLLECTION_NOT_FOUND');
  if (!route.needsCollection) return;
  exchange.resolvedMs = clock.monotonicMs();
  exchange.collection = await call(caller, 'collections.resolve', { accountId, name: target });
}

/**
 * Parses the query string, of which only parameters of the route may occur, and takes the route
 * that they choose. Throws INVALID_ARGUMENT, and what that route's collection is refused with.
 */
async function readQueryString(exchange: Exchange, parts: StepParts): Promise<void> {
  const { route, search } = exchange;
  exchange.query = route.surface.parseQuery(search, route.query);
  for (const name of exchange.query.keys()) exchange.route = route.whenGiven[name] ?? exchange.route;
  if (exchange.route !== route) await resolveCollection(exchange, parts);
}

/** Takes memory for the vectors that the answer may hold. Throws UNAVAILABLE. */
function reserveAnswer(exchange: Exchange, { overload }: StepParts): void {
  const { accountId, collection, input, route } = exchange;
  if (collection !== null) exchange.expectedBytes = route.expectedBytes(input!, collection.dimensions);
  exchange.answerMemory = overload.answers.take(accountId, exchange.expectedBytes);
}
