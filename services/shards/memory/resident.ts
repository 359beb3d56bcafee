import type { Logger } from 'pino';
import type { Clock } from '../../../lib/runtime.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { Store } from '../../../lib/store/port.ts';
import type { Claim, Claims } from '../cluster/ownership/claims.ts';
import type { ShardActor } from '../shard/actor.ts';
import type { Checkpointer } from '../shard/checkpointer.ts';
import type { Materialiser } from '../shard/materialiser.ts';
import type { Warm } from '../shard/open.ts';
import type { WriteBudget } from '../shard/write-budget.ts';
import type { ShardWorker } from '../worker/pool.ts';
import type { OwnHeads } from './own-heads.ts';

/** A shard that is open, opening or closing. */
export interface Resident {
  spec: ShardSpec;
  claim: Claim | null;
  opening: Promise<ShardActor>;
  actor: ShardActor | null;
  closing: Promise<void> | null;
  /** Null until it is open. */
  heads: OwnHeads | null;
  uses: number;
  lastUsedMs: number;
}

/** Copies of shards that other nodes hold. */
export interface Copies {
  /** Of the copy of one shard, or of all. */
  bytes(key?: ShardKey): number;
  /** A worker tells how much what it has of a shard takes now. */
  resized(key: ShardKey, bytes: number): void;
  /** The shard's copy, which is the caller's from then on; null where there is none. */
  take(key: ShardKey): Promise<{ worker: ShardWorker; warm: Warm } | null>;
  /**
   * Drops copies until so many bytes are free, or there are no more; false when it dropped none.
   */
  shed(bytes: number): Promise<boolean>;
}

export interface ShardCacheOptions {
  store: Store;
  clock: Clock;
  log: Logger;
  claims: Claims;
  workers: number;
  memoryBytes: number;
  materialiser: Materialiser;
  /** For the writes of all shards; absent: each shard's are bounded by themselves. */
  writes?: WriteBudget;
  checkpointer: Checkpointer;
  /** Whatever else holds shards in memory; default: nothing does. */
  copies?: Copies;
  /** Open shards changed. */
  onChange(): void;
  /** An entry was committed. */
  onCommit?(actor: ShardActor): void;
  /** Stored bytes of the collection contradict their recorded root. */
  onContradiction(spec: ShardSpec, reason: string): void;
}
