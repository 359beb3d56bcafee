import { call } from '../../../lib/actions/call.ts';
import { notFound } from '../../../lib/errors.ts';
import { isCollectionName } from '../../../lib/requests/collection-name.ts';
import type { Exchange } from '../exchange.ts';
import type { StepParts } from './step.ts';

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Looks up the collection that the path names, where its shape decides how the body is read. A name
 * or id that nothing can have gets the answer of one that nothing has. Throws the 404 of the route.
 */
export async function resolveCollection(exchange: Exchange, { clock, config }: StepParts): Promise<void> {
  const { accountId, caller, route, target } = exchange;
  if (!route.path.includes('{name}')) {
    if (!route.path.includes('{id}') || ID.test(target)) return;
    throw notFound(route.access === 'operator' ? 'ACCOUNT_NOT_FOUND' : 'KEY_NOT_FOUND');
  }
  if (!isCollectionName(target, config.limits)) throw notFound('COLLECTION_NOT_FOUND');
  if (route.body === null) return;
  exchange.resolvedMs = clock.monotonicMs();
  exchange.collection = await call(caller, 'collections.resolve', { accountId, name: target });
}
