import { call } from '../../../contracts/actions/call.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { StepParts } from './step.ts';

/**
 * Looks up the collection in the path if the body can only be decoded with its shape. Throws
 * COLLECTION_NOT_FOUND.
 */
export async function resolveCollection(request: RoutedRequest, { clock }: StepParts): Promise<void> {
  const { accountId, caller, collection, route, target } = request;
  if (!route.needsCollection || collection !== null) return;
  request.resolvedMs = clock.monotonicMs();
  request.collection = await call(caller, 'collections.resolve', { accountId, name: target });
}
