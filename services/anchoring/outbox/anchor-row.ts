import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import {
  type AnchorHistoryItem,
  type AnchorRow,
  type AnchorStore,
  emptyRow,
  isWanting,
} from '../../../lib/store/anchors.ts';

const FIRST_REVISION_MAX = 2 ** 40;

/** A collection's first row, with nothing wanted so far. */
export function newRow(collectionId: string, address: string): AnchorRow {
  return emptyRow(collectionId, address, randomInt(1, FIRST_REVISION_MAX));
}

/**
 * Tells the operator that nothing of a collection is anchored any more; docs/operations.md names
 * the words.
 */
export function logHalt(log: Pick<Logger, 'error'>, collectionId: string, reason: string): void {
  log.error({ collectionId, reason }, 'anchoring is halted until an operator decides');
}

/**
 * Changes a row in what decides about the next transaction, unless somebody else did so since `row`
 * was read; what is wanted may have grown meanwhile. The row as stored, or null when it was
 * another's turn and nothing was changed. `change` gets the newest row. Throws StoreError.
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
    if (!isWanting(next)) next.wantedAt = null;
    if (await anchors.put(next, history)) return next;
    newest = await anchors.get(row.collectionId);
  }
  return null;
}
