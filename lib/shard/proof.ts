import type { MerkleNode, ShardHead } from './head.ts';

/**
 * Siblings from the shard's own root down to where the path of the id ends, and what stands there.
 */
export interface ShardProof {
  head: ShardHead;
  siblings: MerkleNode[];
  /** Hex; null where nothing stands. */
  terminal: { key: string; vecHash: string; metaHash: string } | null;
  present: boolean;
}
