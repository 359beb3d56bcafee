import { call } from '../../../contracts/actions/call.ts';
import { isProvecError, ProvecError, unknownCollection } from '../../../lib/errors.ts';
import { LIST_WIDTH } from '../overload/queues.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { StepParts } from './step.ts';
import { queueRequestOf } from './wait-turn.ts';

/**
 * Returns the error of a request. If it is the 404 for an unknown collection, adds a similar name,
 * but only for a key that may list the names. Looking for one costs as much as a page of a list, so
 * it waits for the same permits. If that fails, the 404 has no suggestion.
 */
export async function withNearestName(
  request: RoutedRequest,
  { overload }: StepParts,
  error: unknown,
): Promise<unknown> {
  const { accountId, caller, identity } = request;
  if (!isProvecError(error) || error.code !== 'COLLECTION_NOT_FOUND' || !identity?.scopes.includes('read'))
    return error;
  const name = nameOf(request);
  if (error.message !== unknownCollection(name).message) return error;
  request.actionEnded();
  try {
    const permit = await overload.queues.other.enter({ ...queueRequestOf(request), width: LIST_WIDTH });
    const likely = await call(caller, 'collections.nearestName', { accountId, name }).finally(() => permit.release());
    if (likely === null) return error;
    return new ProvecError(error.code, `There is no collection named ${name}; did you mean ${likely}?`);
  } catch {
    return error;
  }
}

/** Returns the collection's name as the path or, for the target of an alias, as the body has it. */
function nameOf({ body, route, target }: RoutedRequest): string {
  if (route.path.includes('{name}')) return target;
  return (body as { collection?: string } | null)?.collection ?? '';
}
