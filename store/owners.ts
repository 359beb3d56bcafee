import type { ProcessIdentity } from '../lib/host/process-identity.ts';
import type { CollectionId } from '../lib/ids.ts';
import type { NodeUsage } from '../lib/placement/cluster-usage.ts';
import type { ShardKey } from '../lib/shard/key.ts';

/**
 * The owner of a shard. The epoch counts claims; an owner appends to the shard's log under the
 * epoch of its claim.
 */
export interface OwnerRow {
  shard: ShardKey;
  epoch: number;
  /** Null if the shard was released: any node may claim it. */
  holder: Holder | null;
}

/** One run of one node. A node that restarts is a different holder. */
export interface Holder {
  /** Node name, the address for calls. */
  node: string;
  /** UUID. */
  incarnation: string;
}

export interface OwnerStore {
  get(shard: ShardKey): Promise<OwnerRow | null>;
  /** Returns the rows of the collection's shards that were ever claimed, by shard index. */
  list(collectionId: CollectionId): Promise<OwnerRow[]>;
  /**
   * Compare-and-set: writes the row if the stored epoch is `row.epoch - 1` (absent counts as 0);
   * otherwise changes nothing and returns false.
   */
  claim(row: OwnerRow): Promise<boolean>;
  /**
   * If the shard is held under this epoch, hands it to `to`, who must still claim it, or leaves it
   * without a holder. Otherwise changes nothing.
   */
  release(shard: ShardKey, epoch: number, to?: Holder): Promise<void>;
}

/**
 * A node's heartbeat. It contains no time: other nodes check whether `beat` changes while their own
 * clock runs.
 */
export interface LeaseRow extends Holder {
  beat: number;
  process: ProcessIdentity;
  /** The node is about to leave and takes no more shards. */
  draining: boolean;
  /** The node's load and capacity; absent until its first report. */
  use?: LeaseUse;
}

/** What a shard node reports with each renewal. */
export interface LeaseUse extends Omit<NodeUsage, 'node' | 'draining'> {
  /** Time in milliseconds since the node last heard from any other node. */
  silenceMs?: number;
}

export interface LeaseStore {
  /**
   * Writes a new incarnation's lease. An existing one stays unchanged, because a repeated call must
   * not reset its beat.
   */
  begin(row: LeaseRow): Promise<void>;
  /**
   * Raises `beat`, sets `draining` and, if given, `use`. Returns false if the lease is gone, which
   * is final. A higher stored beat stays, so two reads that show the same beat prove that there was
   * no renewal between them.
   */
  renew(incarnation: string, beat: number, draining: boolean, use?: LeaseUse): Promise<boolean>;
  list(): Promise<LeaseRow[]>;
  /** Returns the existing ones of these leases, in any order. */
  get(incarnations: readonly string[]): Promise<LeaseRow[]>;
  /**
   * Ends a lease: the caller's own, or one that was found dead. With `beat`, ends it only if it
   * still shows that beat, so a lease renewed since is kept. Returns whether the lease is gone.
   * Idempotent.
   */
  end(incarnation: string, beat?: number): Promise<boolean>;
}
