import { notFound } from '../../../lib/errors.ts';
import { isCollectionName } from '../../../lib/records/collection-name.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { StepParts } from './step.ts';

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws the route's 404 for an invalid name or id in the path: the same as for an unknown one. */
export function checkTarget({ route: { access, path }, target, item }: RoutedRequest, { config }: StepParts): void {
  if (path.includes('{name}') && !isCollectionName(target, config.limits)) throw notFound('COLLECTION_NOT_FOUND');
  if (path.includes('{id}') && !path.includes('{name}') && !ID.test(target))
    throw notFound(access === 'operator' ? 'ACCOUNT_NOT_FOUND' : 'KEY_NOT_FOUND');
  if (path.includes('{key}') && !ID.test(item)) throw notFound('KEY_NOT_FOUND');
}
