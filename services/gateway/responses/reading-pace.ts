import type { ServerResponse } from 'node:http';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';

/** Minimum rate at which a client must read its responses. */
export interface MinimumPace {
  bytesPerSecond: number;
  /** Time of waiting for the client, in ms, over which the rate is measured. */
  windowMs: number;
}

export const MINIMUM_PACE: MinimumPace = {
  bytesPerSecond: INTERNAL_LIMITS.answerReadMinBytesPerSecond,
  windowMs: INTERNAL_LIMITS.answerReadWindowMs,
};

/**
 * Checks that a client reads its response fast enough. A slow client would otherwise hold the
 * response's memory indefinitely.
 */
export class ReadingPace {
  readonly #minimum: MinimumPace;
  #waitedMs = 0;
  #takenBytes = 0;

  constructor(minimum: MinimumPace) {
    this.#minimum = minimum;
  }

  /**
   * Waits until the client has read enough for more to be written; `bytes` is what was written
   * since the last call. Returns false if the client disconnected or is too slow.
   */
  async keeps(res: ServerResponse, bytes: number): Promise<boolean> {
    this.#takenBytes += bytes;
    while (!res.destroyed && res.writableNeedDrain) {
      // Without a socket, the response waits behind an earlier one on its connection; that time
      // does not count.
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
   * Waits until an ended response is handed to the system in full. Returns false if that takes
   * longer than the window, and true if the client disconnected.
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
   * Waits for the event, a disconnect or the end of the window. A response behind an earlier one
   * waits without a limit until it gets the socket.
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
