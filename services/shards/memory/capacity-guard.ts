import { outOfCapacity } from '../../../lib/admission/out-of-capacity.ts';
import type { Config } from '../../../lib/config.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Clock } from '../../../lib/runtime.ts';
import type { Store } from '../../../lib/store/port.ts';
import { WriteBudget } from '../shard/write-budget.ts';

/**
 * Shares of the memory limit: above the first, what can be had again is let go of until the second
 * is reached.
 */
export const CLOSE_ABOVE = 0.85;
export const CLOSE_UNTIL = 0.75;
/** Of the memory limit, for writes that wait. */
const WRITES_SHARE = 1 / 4;
const DISK_CHECK_MS = 1_000;
const MIB = 2 ** 20;

/** Refuses upserts with 507 before memory or disk run out, while there is still room to delete. */
export class CapacityGuard {
  /** For the queues of all shards; what they hold counts as used. */
  readonly writes: WriteBudget;
  #config: Config;
  #store: Store;
  #clock: Clock;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #measuring: Promise<void> | null = null;
  #freeBytes: number | null = null;
  /** Since the disk was looked at. */
  #admittedBytes = 0;

  constructor(config: Config, store: Store, clock: Clock) {
    this.#config = config;
    this.#store = store;
    this.#clock = clock;
    this.writes = new WriteBudget(Math.min(INTERNAL_LIMITS.nodeWritesMaxBytes, this.memoryBytes * WRITES_SHARE));
  }

  get memoryBytes(): number {
    return this.#config.memoryLimitMiB * MIB;
  }

  /** Room on the disk that only deletes may take. */
  get diskReserveBytes(): number {
    return this.#config.diskReserveMiB * MIB;
  }

  /**
   * Whether a write that adds `incomingBytes` fits beside what open shards and queued writes hold.
   */
  fits(heldBytes: number, incomingBytes: number): boolean {
    return heldBytes + incomingBytes <= this.memoryBytes;
  }

  /**
   * Throws OUT_OF_CAPACITY when the write would eat into the disk's reserve; looks at the disk once
   * a second.
   */
  async admitToDisk(incomingBytes: number): Promise<void> {
    if (this.#clock.monotonicMs() - this.#checkedAtMs >= DISK_CHECK_MS) {
      this.#measuring ??= this.#measure().finally(() => {
        this.#measuring = null;
      });
      await this.#measuring;
    }
    const leftBytes = this.#freeBytes === null ? null : this.#freeBytes - this.#admittedBytes - incomingBytes;
    if (leftBytes !== null && leftBytes < this.diskReserveBytes) throw outOfCapacity('reserve');
    this.#admittedBytes += incomingBytes;
  }

  async #measure(): Promise<void> {
    const freeBytes = await this.#store.freeBytes();
    this.#freeBytes = freeBytes;
    this.#admittedBytes = 0;
    this.#checkedAtMs = this.#clock.monotonicMs();
  }
}
