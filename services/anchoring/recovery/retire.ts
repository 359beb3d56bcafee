/**
 * Retires the row of a collection that is no longer anchored, because its plan has no anchoring or
 * the ledger was turned off.
 *
 * Records never get ahead of the confirmed root (services/shards/shard/anchored-bound.ts), so a
 * root without a successor would let the log grow forever. The row forgets the confirmed and wanted
 * cuts, after comparing the shards with the root once more to detect tampering. It keeps the root
 * and the history: if the collection is anchored again, the ledger must show that root, and the
 * stored data must not be older. Changes made in between are not verified.
 */
import { type AnchoredRoot, collectionRoot } from '../../../lib/shard/collection-root.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import { type AnchorRow, outboxStateOf } from '../../../store/anchors.ts';
import type { AnchoringOptions } from '../context.ts';
import { changeRow } from '../outbox/anchor-row.ts';

type RetireOptions = Pick<AnchoringOptions, 'store' | 'headsAt'>;

/** Returns true if the row has no work left but has cuts to forget. */
export const mayRetire = (row: AnchorRow): boolean => outboxStateOf(row) === 'settled' && row.wanted !== null;

/**
 * Returns true if the row has cuts to forget and may forget them with work left. While the ledger
 * is off, no work can be done.
 */
export const mayRetireWithLedgerOff = ({ wanted, halted, closing, trusted, inFlight }: AnchorRow): boolean =>
  wanted !== null && !halted && !closing && !(trusted !== null && inFlight);

/** Retires the row; false if it must not, or not yet. Throws StoreError and shards' errors. */
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
  // A transaction in flight may still land.
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
