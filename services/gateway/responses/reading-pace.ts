import type { ServerResponse } from 'node:http';

/** The slowest that a client may read its answers. */
export interface MinimumPace {
  bytesPerSecond: number;
  /** Time of waiting for the client over which the rate is measured. */
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
      await this.#event(res, 'drain', isCounting);
      if (!isCounting) continue;
      this.#waitedMs += performance.now() - startedMs;
      if (this.#waitedMs < this.#minimum.windowMs) continue;
      if (this.#isTooSlow(res)) return false;
      this.#waitedMs = 0;
      this.#takenBytes = res.writableLength;
    }
    return !res.destroyed;
  }

  /**
   * Waits until an ended answer is handed to the system whole. False when that takes longer than
   * the window; true also when the client is gone.
   */
  async finishes(res: ServerResponse): Promise<boolean> {
    this.#waitedMs = 0;
    while (!isHandedOver(res)) {
      if (this.#waitedMs >= this.#minimum.windowMs) return false;
      const isCounting = res.socket !== null;
      const startedMs = performance.now();
      await this.#event(res, 'finish', isCounting);
      if (isCounting) this.#waitedMs += performance.now() - startedMs;
    }
    return true;
  }

  #isTooSlow(res: ServerResponse): boolean {
    const taken = this.#takenBytes - res.writableLength;
    return taken * 1_000 < this.#minimum.bytesPerSecond * this.#waitedMs;
  }

  /**
   * Waits for the event, or until the client is gone or the window is over; for an answer behind an
   * earlier one of its connection, until it is its turn.
   */
  #event(res: ServerResponse, event: 'drain' | 'finish', isCounting: boolean): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        res.off(event, end).off('close', end).off('socket', end);
        resolve();
      };
      const timer = isCounting ? setTimeout(end, Math.max(1, this.#minimum.windowMs - this.#waitedMs)) : undefined;
      res.on(event, end).on('close', end).on('socket', end);
    });
  }
}

const isHandedOver = (res: ServerResponse): boolean =>
  res.destroyed || res.writableFinished || (res.socket !== null && res.writableLength === 0);
