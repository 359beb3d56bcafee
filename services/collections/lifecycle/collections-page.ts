import type { CollectionsPage, CollectionView } from '../../../contracts/actions/collections.ts';
import { positionCursor, positionOfCursor } from '../../../contracts/requests/page-cursor.ts';
import { lastOf } from '../../../lib/checked-access.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { positionOf } from '../../../store/page.ts';
import type { Store } from '../../../store/port.ts';
import { collectionView, collectionViews } from './collection-view.ts';

/** Maximum rows, and approximate bytes, read at once: their seals are verified in one go. */
const READ_AT_ONCE = 100;
const READ_FIRST = 20;
const READ_BYTES = 64 * 1024;
/** Approximate size of a collection as JSON, without its name and tags. */
const VIEW_BYTES = 300;

interface PageRequest {
  accountId: string;
  limit: number;
  cursor?: string | undefined;
  isUncounted?: boolean | undefined;
}

/** Remaining room on a page. */
class PageBudget {
  #bytes = 0;
  #rows = 0;
  #shards = 0;

  /** Number of rows to read next, assuming the average size so far. */
  get rowsAtOnce(): number {
    if (this.#rows === 0) return READ_FIRST;
    return Math.max(1, Math.min(READ_AT_ONCE, Math.floor((READ_BYTES * this.#rows) / this.#bytes)));
  }

  /** Adds a collection and returns whether it fits. The first always does. */
  takes({ name, tags = '', shards }: CollectionRow): boolean {
    const isFirst = this.#bytes === 0;
    this.#bytes += VIEW_BYTES + name.length + tags.length;
    this.#rows += 1;
    this.#shards += shards;
    const { collectionsPageMaxBytes: maxBytes, collectionsPageMaxShards: maxShards } = INTERNAL_LIMITS;
    return isFirst || (this.#bytes <= maxBytes && this.#shards <= maxShards);
  }
}

/**
 * Returns one page of an account's collections, newest first: at most `limit`, fewer if they are
 * large. A cursor stays valid when its collection is deleted. Throws INVALID_ARGUMENT for an
 * invalid cursor.
 */
export async function collectionsPage(
  { catalog, log }: Pick<Store, 'catalog' | 'log'>,
  { accountId, limit, cursor, isUncounted = false }: PageRequest,
): Promise<CollectionsPage> {
  const collections: CollectionView[] = [];
  const room = new PageBudget();
  for (let after = positionOfCursor(cursor); ; ) {
    const left = limit - collections.length;
    const { rows, next } = await catalog.collectionsPage(accountId, after, Math.min(left, room.rowsAtOnce));
    const full = rows.findIndex((row) => !room.takes(row));
    const page = full < 0 ? rows : rows.slice(0, full);
    collections.push(...(isUncounted ? page.map((row) => collectionView(row, 0)) : await collectionViews(log, page)));
    if (full > 0) return { collections, ...positionCursor(positionOf(lastOf(page))) };
    if (full === 0) return { collections, ...positionCursor(after) };
    if (next === null || page.length === left) return { collections, ...positionCursor(next) };
    after = next;
  }
}
