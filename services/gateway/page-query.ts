import { AUDIT_PAGE_MAX } from '../../contracts/actions/audit.ts';
import { invalidValue } from '../../lib/records/fields.ts';
import { KEPT_DAYS } from '../../store/usage.ts';
import { describeParameter } from './query-string.ts';
import type { RouteInput } from './route.ts';

/** Days that `GET /usage/daily` returns unless the request names a number. */
export const USAGE_DAYS_DEFAULT = 30;

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

/** Returns the requested number of days. Throws INVALID_ARGUMENT. */
export function daysOf(query: RouteInput['query']): number {
  const days = query.get('days');
  if (days === undefined) return USAGE_DAYS_DEFAULT;
  if (/^\d{1,9}$/.test(days) && Number(days) >= 1 && Number(days) <= KEPT_DAYS) return Number(days);
  throw invalidValue('days', `a whole number from 1 to ${KEPT_DAYS}`, describeParameter(days));
}

/** Like `limitedPageOf`, for lists whose cursor is a position. */
export function positionedPageOf(query: RouteInput['query'], maxItems: number): { limit?: number; position?: number } {
  const { limit, cursor } = limitedPageOf(query, maxItems);
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
    throw invalidValue('cursor', '`nextCursor` of the previous page', describeParameter(cursor));
  return { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { position: Number(cursor) }) };
}

/** Returns the requested part of an audit trail; the cursor is the position of the entry before. */
export function auditPageOf(query: RouteInput['query']): { limit: number; after: number } {
  const { limit = AUDIT_PAGE_MAX, position: after = 0 } = positionedPageOf(query, AUDIT_PAGE_MAX);
  return { limit, after };
}

/** Like `limitedPageOf`, with `maxItems` as the default limit. */
export function fullPageOf(query: RouteInput['query'], maxItems: number): { limit: number; cursor?: string } {
  return { limit: maxItems, ...limitedPageOf(query, maxItems) };
}
