import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { CollectionId } from '../../../lib/ids.ts';
import {
  type AnchorHistoryItem,
  type AnchorRow,
  type AnchorStore,
  emptyAnchorRow,
  hasUnconfirmedCut,
} from '../../../store/anchors.ts';

const FIRST_REVISION_MAX = 2 ** 40;

/** Returns a collection's first row, without a request. */
export function newRow(collectionId: CollectionId, address: string): AnchorRow {
  return emptyAnchorRow(collectionId, address, randomInt(1, FIRST_REVISION_MAX));
}

/** Logs that a collection is no longer anchored. docs/operations.md quotes the message. */
export function logHalt(log: Pick<Logger, 'error'>, collectionId: CollectionId, reason: string): void {
  log.error({ collectionId, reason }, 'anchoring is halted until an operator decides');
}

/**
 * Changes fields of a row that determine the next transaction, unless another instance has done so
 * since `row` was read; `wanted` may have grown meanwhile. `change` gets the newest row. Returns
 * the stored row, or null if another change came first and nothing was written. Throws StoreError.
 */
export async function changeRow(
  anchors: Pick<AnchorStore, 'get' | 'put'>,
  row: AnchorRow,
  change: (newest: AnchorRow) => Partial<AnchorRow>,
  history?: AnchorHistoryItem,
): Promise<AnchorRow | null> {
  let newest: AnchorRow | null = row;
  while (newest !== null && newest.epoch === row.epoch) {
    const next: AnchorRow = { ...newest, ...change(newest), revision: newest.revision + 1, epoch: row.epoch + 1 };
    if (!hasUnconfirmedCut(next)) next.wantedAt = null;
    if (await anchors.put(next, history)) return next;
    newest = await anchors.get(row.collectionId);
  }
  return null;
}
