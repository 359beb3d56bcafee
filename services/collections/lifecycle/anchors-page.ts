import { type Caller, call } from '../../../contracts/actions/call.ts';
import type { AnchorsPage } from '../../../contracts/actions/collections.ts';
import { readCursor, writeCursor } from '../../../contracts/requests/page-cursor.ts';
import { invalidArgument } from '../../../lib/errors.ts';
import type { Limits } from '../../../lib/limits.ts';

/** Cursor: position of the last anchor on the previous page. */
const POSITION = /^before (?<position>\d{1,15})$/;

/** Returns a page of confirmed roots, newest first. Throws INVALID_ARGUMENT. */
export async function anchorsPage(
  caller: Caller,
  collectionId: string,
  request: { limit?: number; cursor?: string },
  limits: Limits,
): Promise<AnchorsPage> {
  const limit = request.limit ?? limits.anchorsPageDefault;
  if (!Number.isInteger(limit) || limit < 1 || limit > limits.anchorsPageMax) {
    throw invalidArgument('limit', `a whole number from 1 to ${limits.anchorsPageMax}`, request.limit);
  }
  const before =
    request.cursor === undefined ? null : Number(readCursor<'position'>(request.cursor, POSITION).position);
  const { items, faults, dropped, next } = await call(caller, 'anchoring.history', { collectionId, limit, before });
  return {
    anchors: items.map((item) => ({
      position: item.position,
      version: item.version,
      merkleRoot: item.merkleRoot,
      vectorCount: item.vectorCount,
      decisions: item.decisions,
      ledgerTx: item.signature,
      ledgerExplorerUrl: item.explorerUrl,
      confirmedAt: item.confirmedAt,
      sealed: item.isSealed,
    })),
    ...(faults.length > 0 && { faults }),
    dropped,
    nextCursor: next === null ? null : writeCursor(`before ${next}`),
  };
}
