import { parseShardKey, type ShardKey } from '../../../lib/shard/key.ts';
import type { AnchorStore } from '../../../lib/store/anchors.ts';

/**
 * How far a shard's records may follow its log: through the returned seq, Infinity where nothing
 * holds them back.
 *
 * The state whose root was confirmed on the ledger must be readable at its very seq whenever the
 * shard opens; else bytes that were changed behind the service's back, with all roots recorded
 * since, would pass for the truth and be anchored over it. Records are changed in place, so they
 * wait in the log until their root is confirmed. While the first one is on its way nothing moves:
 * nobody knows which seq it will be.
 */
export async function anchoredBound(anchors: Pick<AnchorStore, 'get'>, key: ShardKey): Promise<number> {
  const { collectionId, index } = parseShardKey(key);
  const row = await anchors.get(collectionId);
  // A row that somebody made up is found where the keypair is (anchoring/outbox/row-seal.ts).
  if (row?.confirmed) return row.confirmed.cut[index]?.seq ?? 0;
  return row?.wanted ? 0 : Number.POSITIVE_INFINITY;
}
