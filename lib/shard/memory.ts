/** Memory of an open shard by part, in bytes. Parts of the index and filters are estimates. */
export interface MemoryParts {
  /** Exact float32 vectors. */
  vectors: number;
  /** Ids and metadata. */
  records: number;
  /** Search index. */
  index: number;
  /** Columns that filters use, and the orders of ids. */
  filters: number;
  /** Leaves and inner nodes of the Merkle map, and recent heads. */
  merkleMap: number;
  /** Slots, and what readers keep. */
  slots: number;
}

/** What an open shard takes. */
export interface ShardMemory {
  parts: MemoryParts;
  records: number;
  /** Records that the index does not cover yet; searches scan them. */
  unindexed: number;
  /** Log entries after the newest checkpoint, in bytes. */
  logBytes: number;
}
