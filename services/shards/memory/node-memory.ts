import { Shares } from '../../../lib/admission/fair-share.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';

/**
 * Shares of the memory limit: above the first, what can be had again is let go of until the second
 * is reached.
 */
const CLOSE_ABOVE = 0.85;
const CLOSE_UNTIL = 0.75;
/** Of the memory limit, for writes that wait. */
const WRITES_SHARE = 1 / 4;
/** Of that an account may hold twice of what it leaves to others. */
const ACCOUNT_WRITES_FACTOR = 2;
/** What may be taken beyond the limit so that a shard that is asked for can be opened. */
const OVERDRAFT = 0.125;

/**
 * How much of a node's memory limit is taken, in bytes. Each holder of memory keeps its own field;
 * requests for memory ask here.
 */
export class NodeMemory {
  readonly limit: number;
  /**
   * Bytes of writes that wait or run, and what one account's may take of them: however many
   * collections a tenant floods, another's upsert is neither refused for it nor told that memory is
   * used up.
   */
  readonly writes: Shares;
  /** Open shards; kept by the ShardCache. */
  shards = 0;
  /** What is held beside them until it is given back, as a recomputation's maps. */
  beside = 0;
  /** Copies of shards that other nodes hold; kept by Replicas. */
  copies = 0;
  /** Shards that are about to open: their number, and what they are expected to take. */
  opening = 0;
  reserved = 0;

  constructor(limit: number) {
    this.limit = limit;
    this.writes = new Shares(ACCOUNT_WRITES_FACTOR, Math.min(INTERNAL_LIMITS.nodeWritesMaxBytes, limit * WRITES_SHARE));
  }

  /** What open shards and what is held beside them take. */
  get own(): number {
    return this.shards + this.beside;
  }

  get held(): number {
    return this.own + this.copies;
  }

  /** Bytes left of the limit; below 0 if more is taken. */
  get left(): number {
    return this.limit - this.#used;
  }

  /** Whether a write that adds `bytes` fits. */
  fitsWrite(bytes: number): boolean {
    return this.#used + bytes <= this.limit;
  }

  /** Whether a copy of `bytes` fits, which must not drive out what is held here. */
  fitsCopy(bytes: number): boolean {
    return this.#used + bytes <= this.limit * CLOSE_UNTIL;
  }

  /** Whether so little is left that copies must go. */
  get isTight(): boolean {
    return this.#used > this.limit * CLOSE_ABOVE;
  }

  /**
   * Whether a shard of `bytes` can open, `closable` bytes once gone; with `overdraft` a little
   * beyond the limit.
   */
  fits(bytes: number, overdraft: boolean, closable = 0): boolean {
    const limit = this.limit * (overdraft ? 1 + OVERDRAFT : 1);
    return this.held - closable + this.reserved + bytes <= limit;
  }

  /** How much has to go until `free` bytes of the limit are free. */
  excess(free: number): number {
    return this.held + free - this.limit;
  }

  /** What is to be free by now; 0 while there is enough. */
  get due(): number {
    return this.excess(this.limit * (1 - CLOSE_ABOVE)) > 0 ? this.limit * (1 - CLOSE_UNTIL) : 0;
  }

  get #used(): number {
    return this.held + this.writes.total;
  }
}
