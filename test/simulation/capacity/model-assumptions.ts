import { COPYING_LANES } from '../../../services/shards/cluster/drain.ts';
import { DRAIN_MAX_MS } from '../../../services/shards/cluster/member.ts';
import { MOVED_BYTES_PER_SECOND } from '../../../services/shards/cluster/rebalancing/rebalancer.ts';

/** Assumptions of the model. Everything else comes from the code under test. */
export const MODEL_ASSUMPTIONS = Object.freeze({
  shardMeanBytes: 200 * 2 ** 20,
  /**
   * Sizes and loads are log-normal: the largest of a hundred shards is about ten times the median.
   */
  shardSigma: 1,
  nodeMemoryBytes: 48 * 2 ** 30,
  workersPerNode: 8,
  /** Mean share of the worker threads that is busy. */
  meanBusy: 0.45,
  storeMs: 5,
  messageMs: 1,
  /** Rates of writing a checkpoint, and of opening a shard from one. */
  saveBytesPerSecond: 100 * 2 ** 20,
  openBytesPerSecond: 100 * 2 ** 20,
  openMs: 50,
  /** Rate at which a node may hand over shards in the long run. */
  moveBytesPerSecond: MOVED_BYTES_PER_SECOND,
  /**
   * A node that leaves hands over this many shards at once, for this long, and releases the rest.
   */
  drainLanes: COPYING_LANES,
  drainMs: DRAIN_MAX_MS,
  openLanes: 2,
  /** Less often than the real rebalancer, because 1,000 nodes are simulated. */
  planEveryMs: 10_000,
  /** Each shard gets a request within this time. */
  askedWithinMs: 1_000,
  /** Callers retry after this time when no node holds their shard. */
  askAgainMs: 500,
  /** Number of callers with different views that request one shard. */
  callers: 2,
  heartbeatMs: 2_000,
  /** INFO packets that a starting node sends to all others. */
  infosAtStart: 1,
});

/**
 * Number of store operations to take over a shard, to open it from a checkpoint, and to save and
 * release it.
 */
export const CLAIM_OPERATIONS = 5;
export const OPEN_OPERATIONS = 7;
export const SAVE_OPERATIONS = 4;
