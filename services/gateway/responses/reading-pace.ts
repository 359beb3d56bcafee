import type { ServerResponse } from 'node:http';

export interface MinimumPace {
  bytesPerSecond: number;
  /** Over so much time of waiting for the client. */
  windowMs: number;
}

/**
 * Whether a client reads its answer fast enough: one that does not would hold the answer's memory
 * for as long as it likes.
 */
export class ReadingPace {
  readonly #minimum: MinimumPace;
  #waitedMs = 0;
  #takenBytes = 0;

  constructor(minimum: MinimumPace) {
    this.#minimum = minimum;
  }

  /**
   * Waits until the client has taken enough of what was written, `bytes` since the last time. False
   * when it is gone or too slow.
   */
  async keeps(res: ServerResponse, bytes: number): Promise<boolean> {
    this.#takenBytes += bytes;
    while (!res.destroyed && res.writableNeedDrain) {
      // Behind an earlier answer on its connection, it is not this one's turn to be read.
      const isCounting = res.socket !== null;
      const startedMs = performance.now();
      await this.#drained(res, isCounting);
      if (!isCounting) continue;
      this.#waitedMs += performance.now() - startedMs;
      if (this.#waitedMs < this.#minimum.windowMs) continue;
      if (this.#isTooSlow(res)) return false;
      this.#waitedMs = 0;
      this.#takenBytes = res.writableLength;
    }
    return !res.destroyed;
  }

  #isTooSlow(res: ServerResponse): boolean {
    const taken = this.#takenBytes - res.writableLength;
    return taken * 1_000 < this.#minimum.bytesPerSecond * this.#waitedMs;
  }

  /**
   * Until the client has read enough, is gone, or the window is over; of an answer that is not sent
   * yet, until it is.
   */
  #drained(res: ServerResponse, isCounting: boolean): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        res.off('drain', end).off('close', end).off('socket', end);
        resolve();
      };
      const timer = isCounting ? setTimeout(end, Math.max(1, this.#minimum.windowMs - this.#waitedMs)) : undefined;
      res.on('drain', end).on('close', end).on('socket', end);
    });
  }
}
