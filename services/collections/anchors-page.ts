import { type Caller, call } from '../../lib/actions/call.ts';
import type { AnchorsPage } from '../../lib/actions/collections.ts';
import { invalidArgument } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';

/** One page of confirmed roots, newest first. Throws INVALID_ARGUMENT for a bad limit or cursor. */
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
  const beforeVersion = request.cursor === undefined ? null : readCursor(request.cursor);
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
    nextCursor: items.length > limit ? writeCursor(page.at(-1)!.version) : null,
  };
}

/** A cursor names the oldest version of the page it came with. */
function writeCursor(version: number): string {
  return Buffer.from(`before ${version}`).toString('base64url');
}

function readCursor(cursor: unknown): number {
  const text = typeof cursor === 'string' && cursor.length <= 64 ? Buffer.from(cursor, 'base64url').toString() : '';
  const version = Number(/^before (\d{1,16})$/.exec(text)?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(version)) throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor);
  return version;
}
