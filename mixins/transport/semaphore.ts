interface Waiting {
  grant(release: (() => void) | null): void;
}

/** Lets a number of holders in at once; the others wait in order, no longer than they say. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<Waiting>();

  constructor(max: number) {
    this.#free = max;
  }

  /**
   * Gives a function that ends the turn, to be called once; null when there was no turn in time.
   */
  take(waitMaxMs: number): Promise<(() => void) | null> {
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve(() => this.#release());
    }
    return new Promise((resolve) => {
      const waiting: Waiting = {
        grant: (release) => {
          clearTimeout(timer);
          this.#waiting.delete(waiting);
          resolve(release);
        },
      };
      const timer = setTimeout(() => waiting.grant(null), waitMaxMs);
      this.#waiting.add(waiting);
    });
  }

  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else next.grant(() => this.#release());
  }
}
