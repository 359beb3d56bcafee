import { lastOf } from '../../lib/checked-access.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { type AnchorHistoryItem, type AnchorStore, historyPositionOf } from '../anchors.ts';
import type { ForgedRows } from '../forged-rows.ts';
import { encodeAnchor } from './anchor-codec.ts';
import { pages } from './pages.ts';
import { decodeRow } from './row-codec.ts';
import type { StoreThread } from './store-thread.ts';
import type { StoredItem } from './thread/anchor-tables.ts';

const PAGE_ROWS = 200;
const OPEN_PAGE_ROWS = 1_000;
const REMOVE_SLICE_ROWS = 256;

/** The outbox of anchors, called from the main thread. */
export function anchorsOf(thread: StoreThread, forged: ForgedRows): AnchorStore {
  const tables = thread.remote('anchors');
  const own: Pick<AnchorStore, 'add' | 'put' | 'all' | 'open' | 'history' | 'trimHistory' | 'remove'> = {
    add: (row) => tables.add(encodeAnchor(row)),
    put: (row, history) => tables.put(encodeAnchor(row), history),

    all() {
      const read = (after: string) => tables.rowsAfter(after, PAGE_ROWS);
      return named(
        pages(read, ({ collectionId }) => collectionId, PAGE_ROWS),
        forged,
      );
    },

    open(standing) {
      const read = (after: string) => tables.openAfter(standing, after, OPEN_PAGE_ROWS);
      return named(
        pages(read, ({ collectionId }) => collectionId, OPEN_PAGE_ROWS),
        forged,
      );
    },

    async history(collectionId, limit, before) {
      const items: AnchorHistoryItem[] = [];
      for (let end = before; items.length < limit; ) {
        const asked = limit - items.length;
        const rows = await tables.history(collectionId, asked, end);
        items.push(...rows.flatMap((row) => itemOf(collectionId, row, forged) ?? []));
        if (rows.length < asked) break;
        end = lastOf(rows).position;
      }
      return items;
    },

    async trimHistory(collectionId, before) {
      let removed: number;
      do removed = await tables.trimHistorySlice(collectionId, before, REMOVE_SLICE_ROWS);
      while (removed === REMOVE_SLICE_ROWS);
    },

    async remove(collectionId, revision) {
      // The row goes last: while it is there, an interrupted deletion is resumed.
      let removed: number | null;
      do removed = await tables.removeHistorySlice(collectionId, revision, REMOVE_SLICE_ROWS);
      while (removed === REMOVE_SLICE_ROWS);
      return removed !== null && tables.remove(collectionId, revision);
    },
  };
  return thread.remote('anchors', own);
}

/** Skips and reports rows whose collection is not a string. */
async function* named<Row extends { collectionId: unknown }>(
  rows: AsyncIterable<Row[]>,
  forged: ForgedRows,
): AsyncIterable<Row[]> {
  for await (const page of rows) {
    yield page.filter(({ collectionId }) => {
      if (typeof collectionId !== 'string') forged.report('anchor', collectionId);
      return typeof collectionId === 'string';
    });
  }
}

/**
 * Decodes a history item; returns null and reports it if it is malformed, so that it hides no
 * other.
 */
function itemOf(
  collectionId: CollectionId,
  { position, item }: StoredItem,
  forged: ForgedRows,
): AnchorHistoryItem | null {
  try {
    const decoded = decodeRow<AnchorHistoryItem>(item, 'An anchor');
    if (historyPositionOf(decoded) === position) return decoded;
  } catch {
    // Handled below.
  }
  forged.report('anchor', `${collectionId} ${position}`);
  return null;
}
