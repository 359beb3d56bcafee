import type { CollectionRow, Metric, Quantization } from '../store/catalog.ts';

/** Everything that a node needs to open a shard. */
export interface ShardSpec {
  collectionId: string;
  /** The account whose plan pays for writes. */
  accountId: string;
  index: number;
  /** Number of shards of the collection. */
  of: number;
  /** Number of nodes that follow it; default 0. */
  replicas?: number;
  dimensions: number;
  metric: Metric;
  quantization: Quantization;
}

/** Returns what a node needs to open shard `index` of a collection. */
export function shardSpec(row: CollectionRow, index: number): ShardSpec {
  return {
    collectionId: row.id,
    accountId: row.accountId,
    index,
    of: row.shards,
    replicas: row.replicas,
    dimensions: row.dimensions,
    metric: row.metric,
    quantization: row.quantization,
  };
}

/** Returns the specs of all shards of a collection, in shard order. */
export function shardSpecs(row: CollectionRow): ShardSpec[] {
  return Array.from({ length: row.shards }, (_, index) => shardSpec(row, index));
}
