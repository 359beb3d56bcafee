import type { CollectionsPage } from '../../lib/actions/collections.ts';
import { readCursor, writeCursor } from '../../lib/requests/page-cursor.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { ShardLog } from '../../lib/store/log.ts';
import { collectionViews } from './collection-view.ts';

const POSITION = /^after (\S{1,40}) (\S{1,64})$/;

/**
 * One page of `rows`, an account's collections, newest first; without `limit` all that are left. A
 * collection that was deleted since its page was read is still a place to go on from. Throws
 * INVALID_ARGUMENT for a bad cursor.
 */
export async function collectionsPage(
  log: ShardLog,
  rows: CollectionRow[],
  { limit = rows.length, cursor }: { limit?: number; cursor?: string },
): Promise<CollectionsPage> {
  const from = cursor === undefined ? 0 : placeAfter(rows, readCursor(cursor, POSITION));
  const page = rows.slice(from, from + limit);
  const collections = await collectionViews(log, page);
  const last = page.at(-1);
  if (last === undefined || from + page.length === rows.length) return { collections };
  return { collections, nextCursor: writeCursor(`after ${last.createdAt} ${last.id}`) };
}

/**
 * Of those made in the same millisecond as one that is gone, some may come twice; none is left out.
 */
function placeAfter(rows: CollectionRow[], [createdAt, id]: string[]): number {
  const last = rows.findIndex((row) => row.id === id);
  if (last >= 0) return last + 1;
  const next = rows.findIndex((row) => row.createdAt <= createdAt);
  return next >= 0 ? next : rows.length;
}
