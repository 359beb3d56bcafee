import { EMPTY_HEAD, type ShardHead } from '../../../lib/shard/head.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { ShardLog } from '../../../store/log.ts';

/** The right to serve one shard. */
export interface Claim {
  readonly shard: ShardKey;
  readonly epoch: number;
  readonly incarnation: string;
  /** Head of the log when the claim was fenced. Every acknowledged write is at or before it. */
  readonly head: ShardHead;
}

/** Grants the claims under which shards are served. */
export interface Claims {
  /**
   * Whether other nodes serve shards of the same store. If so, they are asked for shards that
   * cannot be served here.
   */
  readonly isShared: boolean;
  /** Throws ShardMoved if another node holds the shard, UNAVAILABLE or StoreError. */
  acquire(shard: ShardKey): Promise<Claim>;
  /** Whether the claim is valid now. If so, data read under it before may be returned. */
  holds(claim: Claim): boolean;
  /**
   * Notes that the shard was closed cleanly, with nothing in flight, but is still held. `bytes`
   * is its former size in memory.
   */
  markUnloaded(claim: Claim, bytes: number): void;
}

/**
 * Claims for the only process on a store, which the data directory's lock guarantees: it holds
 * every shard.
 */
export const singleNodeClaims = (log: Pick<ShardLog, 'head'>): Claims => ({
  isShared: false,
  acquire: async (shard) => ({ shard, epoch: 0, incarnation: '', head: (await log.head(shard)) ?? EMPTY_HEAD }),
  holds: () => true,
  markUnloaded: () => undefined,
});
