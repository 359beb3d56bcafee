import type { ShardSpec } from '../actions/shards.ts';
import type { CollectionRow } from '../store/catalog.ts';

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
