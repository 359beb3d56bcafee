import { outOfCapacity } from '../../../lib/admission/out-of-capacity.ts';
import type { Clock } from '../../../lib/runtime.ts';
import type { Store } from '../../../lib/store/port.ts';

const DISK_CHECK_MS = 1_000;

/** Refuses upserts with 507 before the disk runs out, while there is still room to delete. */
export class DiskGuard {
  /** Room on the disk that only deletes may take, in bytes. */
  readonly reserveBytes: number;
  readonly #store: Pick<Store, 'freeBytes'>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #measuring: Promise<void> | null = null;
  #freeBytes: number | null = null;
  /** Since the disk was looked at. */
  #admittedBytes = 0;

  constructor(reserveBytes: number, store: Pick<Store, 'freeBytes'>, clock: Pick<Clock, 'monotonicMs'>) {
    this.reserveBytes = reserveBytes;
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Throws OUT_OF_CAPACITY when the write would eat into the disk's reserve; looks at the disk once
   * a second.
   */
  async admit(incomingBytes: number): Promise<void> {
    if (this.#clock.monotonicMs() - this.#checkedAtMs >= DISK_CHECK_MS) {
      this.#measuring ??= this.#measure().finally(() => {
        this.#measuring = null;
      });
      await this.#measuring;
    }
    const leftBytes = this.#freeBytes === null ? null : this.#freeBytes - this.#admittedBytes - incomingBytes;
    if (leftBytes !== null && leftBytes < this.reserveBytes) throw outOfCapacity('reserve');
    this.#admittedBytes += incomingBytes;
  }

  async #measure(): Promise<void> {
    const freeBytes = await this.#store.freeBytes();
    this.#freeBytes = freeBytes;
    this.#admittedBytes = 0;
    this.#checkedAtMs = this.#clock.monotonicMs();
  }
}
