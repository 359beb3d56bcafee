import type { Limits } from '../limits.ts';

export const NAME_PATTERN = '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$';
const NAME = new RegExp(NAME_PATTERN);

/** Whether the name is valid for a collection. No collection has an invalid name. */
export function isCollectionName(name: unknown, limits: Pick<Limits, 'nameMaxChars'>): name is string {
  return typeof name === 'string' && name.length <= limits.nameMaxChars && NAME.test(name);
}
