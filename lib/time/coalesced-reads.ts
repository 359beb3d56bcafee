import { SYSTEM_TIMERS, settledWithin, type Timers } from './timers.ts';

/** Time after which a slow read no longer delays the next one. */
const OVERTAKEN_AFTER_MS = 500;

interface CoalescedRead<T> {
  value: Promise<T>;
  isSent: boolean;
}

/**
 * Coalesces concurrent reads of changing data. Callers that arrive during a read share the next
 * one, which starts when that read has ended.
 *
 * A caller gets data read after its call. There is one read per key under way, plus one for each
 * `OVERTAKEN_AFTER_MS` that reads take, so a slow source gets fewer reads. A failed read fails for
 * all callers that share it.
 */
export class CoalescedReads<T> {
  readonly #timers: Timers;
  readonly #newest = new Map<string, CoalescedRead<T>>();

  constructor(timers: Timers = SYSTEM_TIMERS) {
    this.#timers = timers;
  }

  /** Returns the result of `read`, or of another caller's read of the same key. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const newest = this.#newest.get(key);
    if (newest?.isSent === false) return newest.value;
    const reading: CoalescedRead<T> = { isSent: newest === undefined, value: Promise.resolve() as Promise<T> };
    const send = (): Promise<T> => {
      reading.isSent = true;
      return read();
    };
    reading.value = newest ? settledWithin(this.#timers, newest.value, OVERTAKEN_AFTER_MS).then(send) : send();
    this.#newest.set(key, reading);
    const ended = (): void => {
      if (this.#newest.get(key) === reading) this.#newest.delete(key);
    };
    reading.value.then(ended, ended);
    return reading.value;
  }
}
