import type { CollectionRow, Metric, Quantization } from '../store/catalog.ts';

/** All a node needs to open a shard. */
export interface ShardSpec {
  collectionId: string;
  /** Billed for what is written. */
  accountId: string;
  index: number;
  /** Number of shards of the collection. */
  of: number;
  /** Nodes that follow it; default 0. */
  replicas?: number;
  dimensions: number;
  metric: Metric;
  quantization: Quantization;
}

/** What a node needs to open shard `index` of a collection. */
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

/** Every shard of a collection, in order of the index. */
export function shardSpecs(row: CollectionRow): ShardSpec[] {
  return Array.from({ length: row.shards }, (_, index) => shardSpec(row, index));
}
