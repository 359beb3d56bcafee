import { endedWithin, SYSTEM_TIMERS, type Timers } from './timers.ts';

/** A reading that takes longer no longer holds up the next one. */
const OVERTAKEN_AFTER_MS = 500;

interface Reading<T> {
  value: Promise<T>;
  isSent: boolean;
}

/**
 * Reads of what changes, asked for by many at once: those who come while one is under way share the
 * next, which is sent when that one has ended.
 *
 * Promises: whoever asks gets what was read after they asked, so that all they know of is in it. Of
 * each key one reading is under way at a time, and one more for each `OVERTAKEN_AFTER_MS` that they
 * take: what slows down is asked less often, and not by ever more at once.
 * How it fails: a reading that fails does so for all who share it.
 */
export class CoalescedReads<T> {
  readonly #timers: Timers;
  readonly #newest = new Map<string, Reading<T>>();

  constructor(timers: Timers = SYSTEM_TIMERS) {
    this.#timers = timers;
  }

  /** What `read` gives, or that of another who asked for the same key. Throws what it throws. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const newest = this.#newest.get(key);
    if (newest?.isSent === false) return newest.value;
    const reading: Reading<T> = { isSent: newest === undefined, value: Promise.resolve() as Promise<T> };
    const send = (): Promise<T> => {
      reading.isSent = true;
      return read();
    };
    reading.value = newest ? endedWithin(this.#timers, newest.value, OVERTAKEN_AFTER_MS).then(send) : send();
    this.#newest.set(key, reading);
    const ended = (): void => {
      if (this.#newest.get(key) === reading) this.#newest.delete(key);
    };
    reading.value.then(ended, ended);
    return reading.value;
  }
}
