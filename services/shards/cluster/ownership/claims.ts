import { EMPTY_HEAD, type ShardHead } from '../../../../lib/shard/head.ts';
import type { ShardKey } from '../../../../lib/shard/key.ts';
import type { ShardLog } from '../../../../lib/store/log.ts';

/** The right to serve one shard. */
export interface Claim {
  readonly shard: ShardKey;
  readonly epoch: number;
  readonly incarnation: string;
  /**
   * What the log held when the claim was made good: all that was ever acknowledged stands at or
   * before it.
   */
  readonly head: ShardHead;
}

/** By what right shards are served. */
export interface Claims {
  /**
   * Whether other nodes serve shards of the same store: what cannot be served here is asked for
   * there.
   */
  readonly isShared: boolean;
  /** Throws ShardMoved where another node holds the shard, UNAVAILABLE, StoreError. */
  acquire(shard: ShardKey): Promise<Claim>;
  /** Whether the claim is good at this moment; what was read under it before may be told. */
  holds(claim: Claim): boolean;
  /** The shard, of so many bytes, left memory in good order, with nothing of it in flight. */
  rest(claim: Claim, bytes: number): void;
}

/**
 * For the only process on a store, as the lock of its data directory makes sure: it holds every
 * shard.
 */
export const soleClaims = (log: Pick<ShardLog, 'head'>): Claims => ({
  isShared: false,
  acquire: async (shard) => ({ shard, epoch: 0, incarnation: '', head: (await log.head(shard)) ?? EMPTY_HEAD }),
  holds: () => true,
  rest: () => undefined,
});
