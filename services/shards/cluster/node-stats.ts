import type { ShardStats } from '../../../lib/actions/shards.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { ClusterMember } from './member.ts';

/** What a node holds, in numbers; without `cluster` it is the only one. */
export function shardStats(shardCache: ShardCache, cluster: ClusterMember | null, reopening: number): ShardStats {
  const open = shardCache.open();
  const { workers } = shardCache.pool;
  return {
    open: open.length,
    opening: shardCache.opening,
    queuedRequests: open.reduce((total, { queued }) => total + queued, 0),
    queuedBytes: shardCache.queuedBytes,
    bytes: shardCache.bytes,
    records: open.reduce((total, { size }) => total + size.records, 0),
    workers: workers.length,
    unindexed: open.reduce((total, { size }) => total + size.unindexed, 0),
    searches: workers.reduce((total, worker) => total + worker.searches, 0),
    searchSeconds: workers.reduce((total, worker) => total + worker.searchMs, 0) / 1000,
    reopening,
    hasLease: cluster?.hasLease ?? true,
    copies: cluster?.copies ?? 0,
    copiedBytes: cluster?.bytesOfCopies() ?? 0,
    mismatches: cluster?.mismatches ?? 0,
  };
}
