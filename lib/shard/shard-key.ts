/**
 * Names one shard of one collection: `<collection uuid>.<index>`; the index is the shard's keyHash
 * prefix read as an integer.
 */
export type ShardKey = string;

export function shardKey(collectionId: string, index: number): ShardKey {
  return `${collectionId}.${index}`;
}

/** The parts of a shard key. */
export function parseShardKey(key: ShardKey): { collectionId: string; index: number } {
  const dot = key.lastIndexOf('.');
  return { collectionId: key.slice(0, dot), index: Number(key.slice(dot + 1)) };
}
