import { invalidValue } from '../../lib/records/fields.ts';
import { describeParameter } from './query-string.ts';
import type { RouteInput } from './route.ts';

/**
 * Returns the requested page. Throws INVALID_ARGUMENT unless `limit` is from 1 to `maxItems`; the
 * action checks the cursor.
 */
export function limitedPageOf(query: RouteInput['query'], maxItems: number): { limit?: number; cursor?: string } {
  const [limit, cursor] = [query.get('limit'), query.get('cursor')];
  const isCount = limit === undefined || (/^\d{1,9}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= maxItems);
  if (!isCount) throw invalidValue('limit', `a whole number from 1 to ${maxItems}`, describeParameter(limit));
  return { ...(limit !== undefined && { limit: Number(limit) }), ...(cursor !== undefined && { cursor }) };
}

/** Like `limitedPageOf`, with `maxItems` as the default limit. */
export function fullPageOf(query: RouteInput['query'], maxItems: number): { limit: number; cursor?: string } {
  return { limit: maxItems, ...limitedPageOf(query, maxItems) };
}
