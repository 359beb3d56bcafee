import type { ShardStats } from '../../../lib/actions/shards.ts';
import type { NodeMemory } from '../memory/node-memory.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { WorkerPool } from '../worker/pool.ts';
import type { Replicas } from './replicas.ts';

export interface CountedParts {
  shardCache: ShardCache;
  memory: NodeMemory;
  pool: WorkerPool;
  copies: Replicas;
}

/** What a node holds, in numbers, but for its lease and what it opens again. */
export function shardStats({
  shardCache,
  memory,
  pool: { workers },
  copies,
}: CountedParts): Omit<ShardStats, 'hasLease' | 'reopening'> {
  const open = shardCache.open();
  return {
    open: open.length,
    opening: shardCache.opening,
    queuedRequests: open.reduce((total, { queued }) => total + queued, 0),
    queuedBytes: memory.writes.total,
    bytes: memory.own,
    records: open.reduce((total, { size }) => total + size.records, 0),
    workers: workers.length,
    unindexed: open.reduce((total, { size }) => total + size.unindexed, 0),
    searches: workers.reduce((total, worker) => total + worker.searches, 0),
    searchSeconds: workers.reduce((total, worker) => total + worker.searchMs, 0) / 1000,
    copies: copies.list().length,
    copiedBytes: memory.copies,
    mismatches: copies.mismatches,
  };
}
