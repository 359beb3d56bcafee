/**
 * Limits the time per turn of the event loop that is spent on building responses.
 *
 * All responses together take about `turnMs` of a turn, first come, first served. The limit is
 * checked between pieces of work, so each piece should take no more than a millisecond or two.
 */
export class ResponseScheduler {
  readonly #turnMs: number;
  readonly #waiting: (() => void)[] = [];
  #spentMs = 0;
  #isTicking = false;

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** Runs `work` at once if this turn has time left, else in a later one. Rejects like `work`. */
  run<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const timed = () => {
        const startedMs = performance.now();
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
        this.#spentMs += performance.now() - startedMs;
      };
      if (this.#waiting.length === 0 && this.#hasTime) timed();
      else this.#waiting.push(timed);
      this.#tick();
    });
  }

  get #hasTime(): boolean {
    return this.#spentMs < this.#turnMs;
  }

  #tick(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    setImmediate(() => {
      this.#isTicking = false;
      this.#spentMs = 0;
      while (this.#waiting.length > 0 && this.#hasTime) this.#waiting.shift()?.();
      if (this.#spentMs > 0) this.#tick();
    });
  }
}
