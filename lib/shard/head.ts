/** Type of a Merkle subtree (format PV1): no record, exactly one, or more. */
export type NodeType = 'empty' | 'leaf' | 'inner';

/** A PV1 subtree: its type and 32-byte hash (32 zero bytes when empty). */
export interface MerkleNode {
  type: NodeType;
  hash: Uint8Array;
}

/**
 * Summary of a shard's state: seq of its newest log entry, number of *write* entries (others change
 * no record), Merkle subtree and number of records.
 */
export interface ShardHead extends MerkleNode {
  seq: number;
  version: number;
  count: number;
  /**
   * Set if an undecided contradiction precedes the head (store/contradictions.ts): the root may
   * cover bytes that the service did not write.
   */
  contradicted?: true;
}

/** Head of a shard that never had a commit. */
export const EMPTY_HEAD: ShardHead = Object.freeze({
  seq: 0,
  version: 0,
  type: 'empty',
  hash: new Uint8Array(32),
  count: 0,
});

/** Maximum length of a log. The service did not write a stored seq above it. */
export const SEQ_MAX = 2 ** 48;

/**
 * Returns a substitute for a stored head that the service did not write or that does not decode.
 * No shard has its hash, zeros. `seq` is the stored one, 0 if no log can be that long.
 */
export function invalidHead(seq: number): ShardHead {
  const isPossible = Number.isSafeInteger(seq) && seq >= 0 && seq <= SEQ_MAX;
  return { ...EMPTY_HEAD, type: 'leaf', seq: isPossible ? seq : 0 };
}

export function isInvalidHead({ type, hash }: ShardHead): boolean {
  return type !== 'empty' && hash.every((byte) => byte === 0);
}

/** Heads of all shards of a collection, in shard order, from which its root is computed. */
export type Cut = ShardHead[];

/** Whether two heads of one shard describe the same state. */
export function isSameState(a: ShardHead, b: ShardHead): boolean {
  return a.seq === b.seq && a.count === b.count && isSameSubtree(a, b);
}

/** Whether two subtrees are equal. */
export function isSameSubtree(a: MerkleNode, b: MerkleNode): boolean {
  return a.type === b.type && a.hash.length === b.hash.length && a.hash.every((byte, at) => byte === b.hash[at]);
}
