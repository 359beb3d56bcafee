/**
 * Runs the steps of a routed request in order. The first step that throws decides the response, so
 * the order is part of the contract: a client learns nothing that it may not know (such as whether
 * a collection exists) and does not send a body in vain. A request refused for overload has cost
 * its authentication, the lookup of its collection, and its body, which is not decoded yet.
 */
import { call } from '../../contracts/actions/call.ts';
import { notFound } from '../../lib/errors.ts';
import { isCollectionName } from '../../lib/records/collection-name.ts';
import type { RoutedRequest } from './request-context.ts';
import type { Route } from './route.ts';
import { answer } from './steps/answer.ts';
import { authenticate, requireScopes } from './steps/authenticate.ts';
import { callAction } from './steps/call-action.ts';
import { decodeBody } from './steps/decode-body.ts';
import { exportRecords } from './steps/export-records.ts';
import { importRecords } from './steps/import-records.ts';
import { readBody } from './steps/read-body.ts';
import type { Step, StepParts } from './steps/step.ts';
import { withNearestName } from './steps/suggest-name.ts';
import { adjustTurn, waitTurn } from './steps/wait-turn.ts';

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Steps that need only the head. */
const HEAD_STEPS: readonly Step[] = [
  authenticate,
  limitRate,
  requireScopes,
  checkTarget,
  resolveCollection,
  readQueryString,
  switchRoute,
  resolveCollection,
];

/** Steps up to the action's result. */
const CALL_STEPS: readonly Step[] = [
  ...HEAD_STEPS,
  readBody,
  waitTurn,
  decodeBody,
  requireScopes,
  adjustTurn,
  reserveAnswer,
  callAction,
];

/** Steps of most requests. */
const STEPS: readonly Step[] = [...CALL_STEPS, answer];

/** Steps of an export, whose response is sent in parts. */
const EXPORT_STEPS: readonly Step[] = [...CALL_STEPS, exportRecords];

/** Steps of an import, whose body is processed as it arrives. */
const IMPORT_STEPS: readonly Step[] = [...HEAD_STEPS, importRecords, answer];

function stepsOf({ streams }: Route): readonly Step[] {
  if (streams === null) return STEPS;
  return streams === 'request' ? IMPORT_STEPS : EXPORT_STEPS;
}

/** Runs a request from its route to its response. Never rejects. */
export async function runPipeline(request: RoutedRequest, parts: StepParts): Promise<void> {
  try {
    for (const step of stepsOf(request.route)) await step(request, parts);
  } catch (error) {
    parts.responder.fail(request, await withNearestName(request, parts, error));
  }
}

/** Counts a request against the limit of its key, link or operator's token. Throws RATE_LIMITED. */
async function limitRate({ identity, route }: RoutedRequest, parts: StepParts): Promise<void> {
  if (identity === null) await parts.operatorRateLimit('operator');
  else await (route.access === 'link' ? parts.linkRateLimit : parts.rateLimit)(identity.keyId);
}

/** Throws the route's 404 for an invalid name or id in the path: the same as for an unknown one. */
function checkTarget({ route: { access, path }, target, item }: RoutedRequest, { config }: StepParts): void {
  if (path.includes('{name}') && !isCollectionName(target, config.limits)) throw notFound('COLLECTION_NOT_FOUND');
  if (path.includes('{id}') && !path.includes('{name}') && !ID.test(target))
    throw notFound(access === 'operator' ? 'ACCOUNT_NOT_FOUND' : 'KEY_NOT_FOUND');
  if (path.includes('{key}') && !ID.test(item)) throw notFound('KEY_NOT_FOUND');
}

/**
 * Looks up the collection in the path if the body can only be decoded with its shape. Throws
 * COLLECTION_NOT_FOUND.
 */
async function resolveCollection(request: RoutedRequest, { clock }: StepParts): Promise<void> {
  const { accountId, caller, collection, route, target } = request;
  if (!route.needsCollection || collection !== null) return;
  request.resolvedMs = clock.monotonicMs();
  request.collection = await call(caller, 'collections.resolve', { accountId, name: target });
}

/**
 * Parses the query string, which may contain only the route's parameters. Throws INVALID_ARGUMENT.
 */
function readQueryString(request: RoutedRequest): void {
  const { route, search } = request;
  request.query = route.dialect.parseQuery(search, route.query);
}

/** Switches to the route that a query parameter selects. */
function switchRoute(request: RoutedRequest): void {
  const { query, route } = request;
  for (const name of query.keys()) request.route = route.whenGiven[name] ?? request.route;
}

/** Reserves memory for the vectors in the response. Throws UNAVAILABLE. */
function reserveAnswer(request: RoutedRequest, { config, overload }: StepParts): void {
  const { accountId, collection, route } = request;
  if (collection !== null) request.expectedBytes = route.expectedBytes(request, collection.dimensions);
  const mostBytes = request.expectedBytes + route.metadataMax(request) * config.limits.metadataMaxBytes;
  request.answerMemory = overload.answers.take(accountId, request.expectedBytes, mostBytes);
}
