/**
 * Shares out the time that each turn of the event loop has for making answers.
 *
 * Promises: all answers together take about `turnMs` of a turn, however many there are, and each
 * gets its turn in order. What is run may overrun that by its own length, so it should take a
 * millisecond or two.
 */
export class ResponseTurns {
  readonly #turnMs: number;
  readonly #waiting: (() => void)[] = [];
  #spentMs = 0;
  #isTicking = false;

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /**
   * Runs `work` at once while this turn has time left, else in one of the next. Rejects with what
   * it throws.
   */
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
      while (this.#waiting.length > 0 && this.#hasTime) this.#waiting.shift()!();
      if (this.#spentMs > 0) this.#tick();
    });
  }
}
