import { setImmediate } from 'node:timers/promises';

/**
 * Lets a few things run at a time; a place is given on in the next turn of the event loop, so that
 * one turn takes in no more than that.
 */
export class Lanes {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      void setImmediate().then(() => this.#leave());
    }
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
