/**
 * Runs the steps of a routed request in order. The first step that throws decides the response, so
 * the order is part of the contract: a client learns nothing that it may not know (such as whether
 * a collection exists) and does not send a body in vain. A request refused for overload has cost
 * its authentication, the lookup of its collection, and its body, which is not decoded yet.
 */
import { answerMessage } from './mcp/answer-message.ts';
import { readMessage } from './mcp/read-message.ts';
import { refuseForeignSite } from './mcp/refuse-foreign-site.ts';
import type { RoutedRequest } from './request-context.ts';
import type { Route } from './route.ts';
import { answer } from './steps/answer.ts';
import { authenticate, requireScopes } from './steps/authenticate.ts';
import { CALLING_STEPS } from './steps/calling-steps.ts';
import { checkTarget } from './steps/check-target.ts';
import { exportRecords } from './steps/export-records.ts';
import { importRecords } from './steps/import-records.ts';
import { readBody } from './steps/read-body.ts';
import { resolveCollection } from './steps/resolve-collection.ts';
import type { Step, StepParts } from './steps/step.ts';
import { withNearestName } from './steps/suggest-name.ts';

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
const CALL_STEPS: readonly Step[] = [...HEAD_STEPS, readBody, ...CALLING_STEPS];

/** Steps of most requests. */
const STEPS: readonly Step[] = [...CALL_STEPS, answer];

/** Steps of an export, whose response is sent in parts. */
const EXPORT_STEPS: readonly Step[] = [...CALL_STEPS, exportRecords];

/** Steps of an import, whose body is processed as it arrives. */
const IMPORT_STEPS: readonly Step[] = [...HEAD_STEPS, importRecords, answer];

/** Steps of a message of an agent, whose tools call other routes. */
const MESSAGE_STEPS: readonly Step[] = [
  refuseForeignSite,
  authenticate,
  limitRate,
  readQueryString,
  readMessage,
  answerMessage,
];

function stepsOf({ carriesMessages, streams }: Route): readonly Step[] {
  if (carriesMessages) return MESSAGE_STEPS;
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
