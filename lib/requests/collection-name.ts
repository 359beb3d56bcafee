import type { Limits } from '../limits.ts';

export const NAME_PATTERN = '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$';
const NAME = new RegExp(NAME_PATTERN);

/** Whether a collection could have this name; one that could not does not exist. */
export function isCollectionName(name: unknown, limits: Pick<Limits, 'nameMaxChars'>): name is string {
  return typeof name === 'string' && name.length <= limits.nameMaxChars && NAME.test(name);
}
