import { Gauge, type Registry } from 'prom-client';
import type { AnchoringStats } from '../contracts/actions/anchoring.ts';
import type { ShardStats } from '../contracts/actions/shards.ts';

/** Sources of the gauges below. A gauge is absent while its source returns null or fails. */
interface StatsSources {
  shards(): Promise<ShardStats | null>;
  anchoring(): Promise<AnchoringStats | null>;
}

const SHARD_GAUGES: [keyof ShardStats, string, string][] = [
  ['open', 'provec_shards_open', 'Shards open on this node.'],
  ['opening', 'provec_shards_opening', 'Shards being opened.'],
  ['reopening', 'provec_shards_reopening', 'Shards that were open at the last stop and are not yet back.'],
  ['queuedRequests', 'provec_shard_queue_requests', 'Requests waiting for a shard.'],
  ['queuedBytes', 'provec_shard_queue_bytes', 'Bytes of writes waiting for a shard.'],
  ['bytes', 'provec_shards_memory_bytes', 'Memory held by open shards.'],
  ['records', 'provec_shards_records', 'Records in open shards.'],
  ['workers', 'provec_shard_workers', 'Worker threads that hold shards.'],
  ['unindexed', 'provec_shards_unindexed_records', 'Records that are scanned because their index has not caught up.'],
  ['copies', 'provec_shard_copies', 'Copies of shards that other nodes hold.'],
  ['copiedBytes', 'provec_shard_copies_memory_bytes', 'Memory held by copies.'],
  ['mismatches', 'provec_shard_copy_mismatches', 'Copies thrown away since the start because their root differed.'],
  ['hasLease', 'provec_shard_lease', '1 while the node may hold shards, else 0.'],
  ['searches', 'provec_shard_searches', 'Searches in shards since the start.'],
  [
    'searchSeconds',
    'provec_shard_search_seconds',
    'Time that searches took in the workers since the start, without waiting.',
  ],
];

const ANCHOR_GAUGES: [keyof AnchoringStats, string, string][] = [
  ['pending', 'provec_anchors_pending', 'Collections whose newest root waits for its anchor.'],
  ['oldestPendingSeconds', 'provec_anchors_oldest_pending_seconds', 'Age of the oldest anchor that waits.'],
  ['confirmed', 'provec_anchors_confirmed', 'Anchors confirmed since the start.'],
  ['failures', 'provec_anchors_failures', 'Failed attempts to anchor since the start.'],
  ['halted', 'provec_anchors_halted', 'Collections whose anchoring was stopped after a mismatch.'],
];

/** Registers gauges of shards and anchors. The returned function updates them before a scrape. */
export function serviceGauges(registry: Registry, sources: StatsSources): () => Promise<void> {
  // A process with a gateway and a health port registers the gauges twice; both show the same ones.
  const gauge = (name: string, help: string) =>
    (registry.getSingleMetric(name) as Gauge | undefined) ?? new Gauge({ name, help, registers: [registry] });
  const ofShards = SHARD_GAUGES.map(([field, name, help]) => ({ field, gauge: gauge(name, help) }));
  const ofAnchors = ANCHOR_GAUGES.map(([field, name, help]) => ({ field, gauge: gauge(name, help) }));
  return async () => {
    // A service that does not answer has no gauges in this response.
    const asked = [sources.shards().catch(() => null), sources.anchoring().catch(() => null)] as const;
    const [shards, anchors] = await Promise.all(asked);
    for (const { field, gauge } of ofShards) show(gauge, shards === null ? undefined : Number(shards[field]));
    for (const { field, gauge } of ofAnchors) show(gauge, anchors?.[field]);
  };
}

function show(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}
