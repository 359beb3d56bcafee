import type { ProcessIdentity } from '../process/process-identity.ts';
import type { ShardKey } from '../shard/key.ts';

/**
 * Who holds a shard. The epoch counts the claims; whoever appends to the shard's log does so under
 * the epoch of its claim.
 */
export interface OwnerRow {
  shard: ShardKey;
  epoch: number;
  /** Null: given back, anybody may claim it. */
  holder: Holder | null;
}

/** One life of one node: a node that starts again is another holder. */
export interface Holder {
  /** The name that calls go to. */
  node: string;
  /** UUID. */
  incarnation: string;
}

export interface OwnerStore {
  get(shard: ShardKey): Promise<OwnerRow | null>;
  /** Rows of those shards of a collection that were ever claimed, in the order of their index. */
  list(collectionId: string): Promise<OwnerRow[]>;
  /**
   * Compare-and-set: writes the row if the stored epoch is `row.epoch - 1` (absent counts as 0);
   * else changes nothing and returns false.
   */
  claim(row: OwnerRow): Promise<boolean>;
  /**
   * Leaves the shard to `to`, who has yet to claim it, or without a holder, if it is held under
   * this epoch; else changes nothing.
   */
  release(shard: ShardKey, epoch: number, to?: Holder): Promise<void>;
}

/**
 * A node's sign of life. No time stands in it: others judge it by whether `beat` changes while
 * their own clock runs.
 */
export interface LeaseRow extends Holder {
  beat: number;
  process: ProcessIdentity;
  /** It is about to leave: it takes no more shards. */
  draining: boolean;
  /** What it holds, and could; absent until it has said so. */
  use?: LeaseUse;
}

/** What a shard node says of itself with each renewal. */
export interface LeaseUse {
  /** Of all shards that it holds and of all that it follows. */
  bytes: number;
  memoryLimitBytes: number;
  /** Worker threads that are busy, averaged over minutes. */
  load: number;
  workers: number;
  /** For how long it had heard nothing of any other node when it said so, in milliseconds. */
  silenceMs?: number;
}

export interface LeaseStore {
  /**
   * Writes a new incarnation's lease; one that is there stays as it is, for a call that comes twice
   * must not take a beat back.
   */
  begin(row: LeaseRow): Promise<void>;
  /**
   * Raises `beat` and sets `draining` and, when given, `use`; false when the lease is gone, which
   * ends it for good. A beat that is higher already stays: as long as two readings show the same
   * one, however far apart, no later renewal came between them.
   */
  renew(incarnation: string, beat: number, draining: boolean, use?: LeaseUse): Promise<boolean>;
  list(): Promise<LeaseRow[]>;
  /** Those of these leases that are there, in any order. */
  get(incarnations: readonly string[]): Promise<LeaseRow[]>;
  /**
   * Ends a lease: its own at a stop, or one that was found dead. With `beat` only one that shows
   * that beat: whoever judged by an old reading ends none that was renewed since. Whether it is
   * over now; one that is not there is. Idempotent.
   */
  end(incarnation: string, beat?: number): Promise<boolean>;
}
