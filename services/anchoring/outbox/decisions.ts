/**
 * What somebody else than the outbox decides about a collection. It stands in the row before any of
 * these resolves, so that every instance goes by it. All throw StoreError.
 */
import { committedCut } from '../../../lib/shard/cut.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { AnchorRow, AnchorStore } from '../../../lib/store/anchors.ts';
import type { AnchoringContext } from '../context.ts';
import { changeRow, logHalt, newRow } from './anchor-row.ts';

/** Nothing is anchored until an operator decides. */
export async function haltRow(
  { store: { anchors }, clock, log, ledger }: AnchoringContext,
  collectionId: string,
  reason: string,
): Promise<void> {
  if ((await anchors.get(collectionId))?.halted) return;
  const halted = { reason, at: new Date(clock.wallMs()).toISOString() };
  const first = { ...newRow(collectionId, await ledger.address(collectionId)), halted };
  if (!(await anchors.add(first))) await decide(anchors, collectionId, (row) => ({ halted: row.halted ?? halted }));
  logHalt(log, collectionId, reason);
}

/** What the shards hold now is right, although the ledger shows `shown`: it is anchored next. */
export async function resumeRow(
  { store: { anchors, catalog, contradictions, log }, clock }: AnchoringContext,
  collectionId: string,
  shown: string,
  want: (cut: Cut) => Promise<unknown>,
): Promise<void> {
  const wasContradicted = (await contradictions.list(collectionId)).length > 0;
  // First, so that a crash in between leaves the collection halted.
  await contradictions.clear(collectionId);
  const collection = await catalog.getCollection(collectionId);
  const wanted = collection && (await committedCut(log, collection));
  const wantedAt = new Date(clock.wallMs()).toISOString();
  // The epoch rises even where nothing is halted: an outbox may just have read a contradiction that
  // is cleared now.
  await decide(anchors, collectionId, (row) =>
    row.halted || wasContradicted
      ? { halted: null, confirmed: null, lapsed: null, trusted: shown, wanted: wanted ?? row.wanted, wantedAt }
      : {},
  );
  // Of what was written while the row was halted nothing was wanted.
  if (collection) await want(await committedCut(log, collection));
}

/** The collection is deleted: its account is to be closed and its row forgotten. */
export async function closeRow(anchors: Pick<AnchorStore, 'get' | 'put'>, collectionId: string): Promise<void> {
  for (let row = await anchors.get(collectionId); row !== null; row = await anchors.get(collectionId))
    if (row.closing || (await changeRow(anchors, row, () => ({ closing: true }))) !== null) return;
}

async function decide(
  anchors: AnchorStore,
  collectionId: string,
  change: (newest: AnchorRow) => Partial<AnchorRow>,
): Promise<void> {
  for (let row = await anchors.get(collectionId); row !== null; row = await anchors.get(collectionId))
    if ((await changeRow(anchors, row, change)) !== null) return;
}
