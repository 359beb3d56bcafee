/** Type of a Merkle subtree (format PV1): nothing, exactly one record, or more. */
export type NodeType = 'empty' | 'leaf' | 'inner';

/** A PV1 subtree: its type and 32-byte hash (32 zero bytes when empty). */
export interface MerkleNode {
  type: NodeType;
  hash: Uint8Array;
}

/**
 * A shard's state in brief: the seq of its newest log entry, the number of *write* entries up to
 * that one (others change no record), its Merkle subtree and its number of records.
 */
export interface ShardHead extends MerkleNode {
  seq: number;
  version: number;
  count: number;
  /**
   * It comes after a contradiction (lib/store/contradictions.ts) on which no operator has decided:
   * the root may contain bytes that the service did not write.
   */
  contradicted?: true;
}

/** The head of a shard that never had a commit. */
export const EMPTY_HEAD: ShardHead = Object.freeze({
  seq: 0,
  version: 0,
  type: 'empty',
  hash: new Uint8Array(32),
  count: 0,
});

/** No log is this long: a stored seq past it was not written by the service. */
export const SEQ_MAX = 2 ** 48;

/**
 * Stands for a stored head that the service did not write, or that does not decode: the state of no
 * shard, as no SHA-256 is known that is all zeros. `seq` is what the stored one says, 0 where no
 * log can be that long.
 */
export function unsoundHead(seq: number): ShardHead {
  const isPossible = Number.isSafeInteger(seq) && seq >= 0 && seq <= SEQ_MAX;
  return { ...EMPTY_HEAD, type: 'leaf', seq: isPossible ? seq : 0 };
}

export function isUnsound({ type, hash }: ShardHead): boolean {
  return type !== 'empty' && hash.every((byte) => byte === 0);
}

/**
 * Heads of all shards of a collection, in order of the shard index: the *cut* behind a collection's
 * root.
 */
export type Cut = ShardHead[];

/** Whether two heads of one shard say the same of the same state. */
export function isSameState(a: ShardHead, b: ShardHead): boolean {
  return a.seq === b.seq && a.count === b.count && isSameNode(a, b);
}

/** Whether two subtrees are the same. */
export function isSameNode(a: MerkleNode, b: MerkleNode): boolean {
  return a.type === b.type && a.hash.length === b.hash.length && a.hash.every((byte, at) => byte === b.hash[at]);
}
