import { COPYING_LANES } from '../../../services/shards/cluster/drain.ts';
import { DRAIN_MAX_MS } from '../../../services/shards/cluster/member.ts';
import { MOVED_BYTES_PER_SECOND } from '../../../services/shards/cluster/rebalancing/rebalancer.ts';

/** What the model takes for given; everything else it has from the code under test. */
export const TERMS = Object.freeze({
  shardMeanBytes: 200 * 2 ** 20,
  /**
   * Sizes and loads are log-normal: of a hundred shards the largest is about ten times the median.
   */
  shardSigma: 1,
  nodeMemoryBytes: 48 * 2 ** 30,
  workersPerNode: 8,
  /** Mean part of the worker threads that is busy. */
  meanBusy: 0.45,
  storeMs: 5,
  messageMs: 1,
  /** A checkpoint is written, and a shard opened from one. */
  saveBytesPerSecond: 100 * 2 ** 20,
  openBytesPerSecond: 100 * 2 ** 20,
  openMs: 50,
  /** What a node may hand over in the long run. */
  moveBytesPerSecond: MOVED_BYTES_PER_SECOND,
  /** A node that leaves gives away so many shards at once, for so long, and releases the rest. */
  drainLanes: COPYING_LANES,
  drainMs: DRAIN_MAX_MS,
  openLanes: 2,
  /** Seldomer than the rebalancer looks, since 1,000 nodes do it here. */
  planEveryMs: 10_000,
  /** Somebody asks for each shard within this time. */
  askedWithinMs: 1_000,
  /** Callers whose shard is not held ask again after this time. */
  askAgainMs: 500,
  /** Callers of different views that ask for one shard. */
  callers: 2,
  heartbeatMs: 2_000,
  /** INFO packets that a node sends to all others when it starts. */
  infosAtStart: 1,
});

/**
 * Operations on the store: taking a shard over, opening it from a checkpoint, saving and releasing
 * it.
 */
export const CLAIM_OPERATIONS = 5;
export const OPEN_OPERATIONS = 7;
export const SAVE_OPERATIONS = 4;
