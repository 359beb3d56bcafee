import { type Caller, call } from '../../../contracts/actions/call.ts';
import type { AnchorsPage } from '../../../contracts/actions/collections.ts';
import { readCursor, writeCursor } from '../../../contracts/requests/page-cursor.ts';
import { lastOf } from '../../../lib/checked-access.ts';
import { invalidArgument } from '../../../lib/errors.ts';
import type { Limits } from '../../../lib/limits.ts';

/** Cursor: the oldest version on the previous page. */
const POSITION = /^before (?<version>\d{1,15})$/;

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
  const beforeVersion = versionBefore(request.cursor);
  const items = await call(caller, 'anchoring.history', { collectionId, limit: limit + 1, beforeVersion });
  const page = items.slice(0, limit);
  return {
    anchors: page.map((item) => ({
      version: item.version,
      merkleRoot: item.merkleRoot,
      vectorCount: item.vectorCount,
      ledgerTx: item.signature,
      ledgerExplorerUrl: item.explorerUrl,
      confirmedAt: item.confirmedAt,
    })),
    nextCursor: items.length > limit ? writeCursor(`before ${lastOf(page).version}`) : null,
  };
}

function versionBefore(cursor: string | undefined): number | null {
  return cursor === undefined ? null : Number(readCursor<'version'>(cursor, POSITION).version);
}
