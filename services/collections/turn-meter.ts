/** Work that one turn of the event loop does, in nanoseconds by estimate. */
const TURN_NS = 2_000_000;

/**
 * Cuts the long work of many requests into pieces, one in each turn of the event loop.
 *
 * All work that shares a meter takes about two milliseconds of a turn, however many requests it is
 * for. Those that have to wait go on in order of arrival.
 */
export class TurnMeter {
  readonly #waiting: (() => void)[] = [];
  #spentNs = 0;
  #isTicking = false;

  /**
   * Adds work of `ns` nanoseconds. Where this turn has no time left, resolves in a later one, which
   * is to be awaited before more work is done; else null.
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
