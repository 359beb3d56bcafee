/** Estimated work per turn of the event loop, in ns. */
const TURN_NS = 2_000_000;

/**
 * Splits the long work of many requests into pieces, one per turn of the event loop.
 *
 * All work that shares a meter takes about two milliseconds per turn, no matter how many requests
 * it is for. Paused work continues in the order of arrival.
 */
export class TurnMeter {
  readonly #waiting: (() => void)[] = [];
  #spentNs = 0;
  #isTicking = false;

  /**
   * Adds work of `ns` nanoseconds. Returns null while this turn has time left, else a promise for a
   * later turn, which the caller must await before it continues.
   */
  pauseAfter(ns: number): Promise<void> | null {
    this.#spentNs += ns;
    this.#tick();
    return this.#spentNs < TURN_NS ? null : new Promise((resolve) => this.#waiting.push(resolve));
  }

  #tick(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    setImmediate(() => {
      this.#isTicking = false;
      this.#spentNs = 0;
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#tick();
    });
  }
}
