/**
 * What becomes of a collection's row when its roots are no longer anchored: its plan has no anchoring any more, or the ledger was turned off.
 *
 * Records are never ahead of the confirmed root (services/shards/persistence/anchored-bound.ts), so a root that nothing will follow would have the log grow for ever.
 * The row forgets it, and what was wanted; the history stays. Should the collection be anchored again, then as after an operator's decision: what is stored
 * by then is right, whatever the ledger says.
 */
import { type AnchorRow, type AnchorStore, standingOf } from '../../lib/store/anchors.ts';
import { changeRow } from './anchor-row.ts';

/** Nothing is left to be done for the collection, and something to be forgotten. */
export const mayLapse = (row: AnchorRow): boolean => standingOf(row) === 'settled' && row.wanted !== null;

/** Throws StoreError. */
export async function lapse(anchors: Pick<AnchorStore, 'get' | 'put'>, row: AnchorRow): Promise<void> {
  await changeRow(anchors, row, () => ({ wanted: null, wantedAt: null, confirmed: null, trusted: true }));
}

/** For when the ledger is off: nothing that is due can be done. What is halted or to be closed stays so. Throws StoreError. */
export async function lapseAll(anchors: AnchorStore): Promise<void> {
  for await (const rows of anchors.all()) {
    for (const row of rows) if (row.wanted !== null && !row.halted && !row.closing) await lapse(anchors, row);
  }
}
