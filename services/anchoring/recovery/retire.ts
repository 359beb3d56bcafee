/**
 * What becomes of a collection's row when its roots are no longer anchored: its plan has no
 * anchoring any more, or the ledger was turned off.
 *
 * Records are never ahead of the confirmed root (services/shards/shard/anchored-bound.ts), so
 * a root that nothing will follow would have the log grow for ever. The row forgets the cut, and
 * what was wanted; the history stays. Before that the shards are held against the root once more:
 * what was changed behind the service's back stays a contradiction. The root itself is kept: when
 * the collection is anchored again the ledger must hold it, and what is stored must not be older.
 * What comes after it while nothing is anchored is held against nothing.
 */
import { type AnchoredRoot, collectionRoot } from '../../../lib/shard/collection-root.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import { type AnchorRow, standingOf } from '../../../lib/store/anchors.ts';
import type { AnchoringOptions } from '../context.ts';
import { changeRow } from '../outbox/anchor-row.ts';

type RetireOptions = Pick<AnchoringOptions, 'store' | 'headsAt'>;

/**
 * Whether nothing is left to be done for the collection, and there is something to be forgotten.
 */
export const mayRetire = (row: AnchorRow): boolean => standingOf(row) === 'settled' && row.wanted !== null;

/**
 * Whether something is to be forgotten though it may not be done: nothing can be done while the
 * ledger is off.
 */
export const mayRetireUndone = ({ wanted, halted, closing, trusted, inFlight }: AnchorRow): boolean =>
  wanted !== null && !halted && !closing && !(trusted !== null && inFlight);

/**
 * True when the row has lapsed; false where it must not, or not yet. Throws StoreError, and what
 * the shards throw.
 */
export async function retire(row: AnchorRow, { store, headsAt }: RetireOptions): Promise<boolean> {
  const { collectionId, confirmed } = row;
  const collection = await store.catalog.getCollection(collectionId);
  if (collection === null) return false;
  if (confirmed) {
    const heads = await headsAt(collection, confirmed.cut);
    const own = heads.filter((head) => head !== null);
    if (own.length < heads.length || collectionRoot(own).merkleRoot !== confirmed.merkleRoot) return false;
  }
  if ((await store.contradictions.list(collectionId)).length > 0) return false;
  const last = confirmed ? [anchoredRoot(confirmed)] : (row.lapsed ?? []);
  // What is in flight may still arrive.
  const next = row.inFlight?.cut ? [anchoredRoot({ cut: row.inFlight.cut, decisions: row.inFlight.decisions })] : [];
  const lapsed: AnchoredRoot[] | null = row.trusted === null ? [...last, ...next] : null;
  return (
    (await changeRow(store.anchors, row, () => ({ wanted: null, wantedAt: null, confirmed: null, lapsed }))) !== null
  );
}

const anchoredRoot = ({ cut, decisions }: { cut: Cut; decisions: number }): AnchoredRoot => ({
  ...collectionRoot(cut),
  decisions,
});
