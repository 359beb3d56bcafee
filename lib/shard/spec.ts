import { itemAt } from '../checked-access.ts';
import type { AccountId, CollectionId } from '../ids.ts';
import type { Metric, Quantization } from '../records/metric.ts';

/** Everything that a node needs to open a shard. */
export interface ShardSpec {
  collectionId: CollectionId;
  /** The account whose plan pays for writes. */
  accountId: AccountId;
  index: number;
  /** Number of shards of the collection. */
  of: number;
  /** Number of nodes that follow it; default 0. */
  replicas?: number;
  dimensions: number;
  metric: Metric;
  quantization: Quantization;
}

/** A collection, as far as its shards depend on it. */
interface ShardedCollection extends Pick<ShardSpec, 'accountId' | 'dimensions' | 'metric' | 'quantization'> {
  id: CollectionId;
  /** Number of shards. */
  shards: number;
  replicas: number;
}

/** Returns what a node needs to open shard `index` of a collection. */
export function shardSpec(row: ShardedCollection, index: number): ShardSpec {
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
export function shardSpecs(row: ShardedCollection): ShardSpec[] {
  return Array.from({ length: row.shards }, (_, index) => shardSpec(row, index));
}

/** Whether a record with this key hash belongs to the shard. */
export function isOfShard({ index, of }: Pick<ShardSpec, 'index' | 'of'>, key: Uint8Array): boolean {
  return itemAt(key, 0) >>> (8 - Math.log2(of)) === index;
}
