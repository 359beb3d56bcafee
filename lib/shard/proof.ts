import type { MerkleNode, ShardHead } from './head.ts';

/** Siblings from the shard's root down to the end of the id's path, and the record there. */
export interface ShardProof {
  head: ShardHead;
  siblings: MerkleNode[];
  /** Hex; null if no record is there. */
  terminal: { key: string; vecHash: string; metaHash: string } | null;
  present: boolean;
}
