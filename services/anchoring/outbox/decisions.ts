/**
 * Decisions about a collection that are made outside its outbox. Each is in the row before its
 * function resolves, so every instance respects it. All functions throw StoreError.
 */
import type { CollectionId } from '../../../lib/ids.ts';
import { committedCut } from '../../../lib/shard/cut.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { AnchorRow, AnchorStore } from '../../../store/anchors.ts';
import type { AnchoringContext } from '../context.ts';
import { changeRow, logHalt, newRow } from './anchor-row.ts';

/** Halts anchoring of a collection until an operator decides. */
export async function haltRow(
  { store: { anchors }, clock, log, ledger }: AnchoringContext,
  collectionId: CollectionId,
  reason: string,
): Promise<void> {
  if ((await anchors.get(collectionId))?.halted) return;
  const halted = { reason, at: new Date(clock.wallMs()).toISOString() };
  const first = { ...newRow(collectionId, await ledger.address(collectionId)), halted };
  if (!(await anchors.add(first))) await decide(anchors, collectionId, (row) => ({ halted: row.halted ?? halted }));
  logHalt(log, collectionId, reason);
}

/** Accepts what the shards hold now, although the ledger shows `shown`, and anchors it next. */
export async function resumeRow(
  { store: { anchors, catalog, contradictions, log }, clock }: AnchoringContext,
  collectionId: CollectionId,
  shown: string,
  want: (cut: Cut) => Promise<unknown>,
): Promise<void> {
  const wasContradicted = (await contradictions.list(collectionId)).length > 0;
  // Comes first, so that a crash in between leaves the collection halted.
  await contradictions.clear(collectionId);
  const collection = await catalog.getCollection(collectionId);
  const wanted = collection && (await committedCut(log, collection));
  const wantedAt = new Date(clock.wallMs()).toISOString();
  // Raises the epoch even if nothing is halted: an outbox may just have read a contradiction that
  // is cleared now.
  await decide(anchors, collectionId, (row) =>
    row.halted || wasContradicted
      ? { halted: null, confirmed: null, lapsed: null, trusted: shown, wanted: wanted ?? row.wanted, wantedAt }
      : {},
  );
  // Writes made while the row was halted have requested no anchor.
  if (collection) await want(await committedCut(log, collection));
}

/** Marks a deleted collection, so that its account is closed and its row forgotten. */
export async function closeRow(anchors: Pick<AnchorStore, 'get' | 'put'>, collectionId: CollectionId): Promise<void> {
  for (let row = await anchors.get(collectionId); row !== null; row = await anchors.get(collectionId))
    if (row.closing || (await changeRow(anchors, row, () => ({ closing: true }))) !== null) return;
}

async function decide(
  anchors: AnchorStore,
  collectionId: CollectionId,
  change: (newest: AnchorRow) => Partial<AnchorRow>,
): Promise<void> {
  for (let row = await anchors.get(collectionId); row !== null; row = await anchors.get(collectionId))
    if ((await changeRow(anchors, row, change)) !== null) return;
}
