import { parseShardKey, type ShardKey } from '../../../lib/shard/key.ts';
import type { AnchorStore } from '../../../store/anchors.ts';

/**
 * Returns the seq through which a shard's records may follow its log, or Infinity if unlimited.
 *
 * Whenever the shard opens, the state whose root was confirmed on the ledger must be readable at
 * exactly its seq. Otherwise bytes altered in the store, with every root recorded since, would be
 * accepted and anchored. Records change in place, so writes wait in the log until their root is
 * confirmed. While the first anchor is pending its seq is unknown, so nothing may advance.
 */
export async function anchoredBound(anchors: Pick<AnchorStore, 'get'>, key: ShardKey): Promise<number> {
  const { collectionId, index } = parseShardKey(key);
  const row = await anchors.get(collectionId);
  // A forged row is detected where the keypair is (anchoring/outbox/row-seal.ts).
  if (row?.confirmed) return row.confirmed.cut[index]?.seq ?? 0;
  return row?.wanted ? 0 : Number.POSITIVE_INFINITY;
}
