import { FairShares } from '../../../lib/admission/fair-share.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';

/**
 * Thresholds, as shares of the memory limit: above the first, copies and idle shards are evicted
 * until use is below the second.
 */
const CLOSE_ABOVE = 0.85;
const CLOSE_UNTIL = 0.75;
/** Share of the memory limit available to queued writes. */
const WRITES_SHARE = 1 / 4;
/** An account may hold this multiple of the write memory that it leaves to others. */
const ACCOUNT_WRITES_FACTOR = 2;
/** Overdraft for opening a requested shard, as a share of the limit. */
const OVERDRAFT = 0.125;

/**
 * Tracks how much of a node's memory limit is used, in bytes. Each user of memory maintains its own
 * field.
 */
export class NodeMemory {
  readonly limit: number;
  /**
   * Bytes of queued and running writes, with a share per account. An account that floods the node
   * with writes causes no refusals for other accounts.
   */
  readonly writes: FairShares;
  /** Open shards. Maintained by ShardCache. */
  shards = 0;
  /** Work memory used besides the shards, such as the maps of a recomputation. */
  workMemory = 0;
  /** Copies of shards that other nodes hold. Maintained by Replicas. */
  copies = 0;
  /** Number of shards about to open, and their expected size in bytes. */
  opening = 0;
  reserved = 0;

  constructor(limit: number) {
    this.limit = limit;
    this.writes = new FairShares(
      ACCOUNT_WRITES_FACTOR,
      Math.min(INTERNAL_LIMITS.nodeWritesMaxBytes, limit * WRITES_SHARE),
    );
  }

  /** Bytes used by open shards and work memory. */
  get own(): number {
    return this.shards + this.workMemory;
  }

  get held(): number {
    return this.own + this.copies;
  }

  /** Bytes left within the limit; negative if it is exceeded. */
  get left(): number {
    return this.limit - this.#used;
  }

  fitsWrite(bytes: number): boolean {
    return this.#used + bytes <= this.limit;
  }

  /** Whether a copy of `bytes` fits. A copy must not evict shards held here. */
  fitsCopy(bytes: number): boolean {
    return this.#used + bytes <= this.limit * CLOSE_UNTIL;
  }

  /** Whether memory is so short that copies must be dropped. */
  get isTight(): boolean {
    return this.#used > this.limit * CLOSE_ABOVE;
  }

  /**
   * Whether a shard of `bytes` can open once `closable` bytes are closed. `overdraft` allows it to
   * exceed the limit slightly.
   */
  fits(bytes: number, overdraft: boolean, closable = 0): boolean {
    const limit = this.limit * (overdraft ? 1 + OVERDRAFT : 1);
    return this.held - closable + this.reserved + bytes <= limit;
  }

  /** Returns how many bytes to evict until `free` bytes of the limit are free. */
  excess(free: number): number {
    return this.held + free - this.limit;
  }

  /** Bytes that should be free now, or 0 while memory use is low enough. */
  get freeTarget(): number {
    return this.excess(this.limit * (1 - CLOSE_ABOVE)) > 0 ? this.limit * (1 - CLOSE_UNTIL) : 0;
  }

  get #used(): number {
    return this.held + this.writes.total;
  }
}
