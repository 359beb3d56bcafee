/**
 * Remembers what was read from the store.
 *
 * Promises: no answer rests on a reading sent more than `keyCacheMaxAgeMs` ago by this process's
 * clock, unless the store took longer to answer it; one that takes longer than `keyReadMaxMs` is
 * refused. So no node tells what was revoked or changed any later, whether it hears events or not.
 * Requests share a reading under way: two a second for each key in use, however many come. `clear`
 * forgets at once. It neither remembers nor shares a reading under way, which may be out of date.
 * How it fails: a node cut off from the store trusts what it knows for half a second, and then
 * answers UNAVAILABLE.
 */
import { LRUCache } from 'lru-cache';
import { unavailable } from '../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { within } from '../../lib/time/timers.ts';

interface Reading<T> {
  sentAtMs: number;
  value: Promise<T | null>;
}

export class ReadCache<T extends object> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #entries: LRUCache<string, T>;
  #underWay = new Map<string, Reading<T>>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#entries = new LRUCache({
      max: INTERNAL_LIMITS.keyCacheMaxEntries,
      ttl: INTERNAL_LIMITS.keyCacheMaxAgeMs,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() },
    });
  }

  /**
   * The remembered value, else the one that `read` gives; null is passed on and not remembered.
   * Throws UNAVAILABLE when it does not come in time.
   */
  async get(key: string, read: () => Promise<T | null>): Promise<T | null> {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const underWay = this.#underWay.get(key);
    const isShared = underWay !== undefined && this.#ageMs(underWay) < INTERNAL_LIMITS.keyCacheMaxAgeMs;
    const reading = isShared ? underWay : this.#send(key, read);
    const value = await within(reading.value, INTERNAL_LIMITS.keyReadMaxMs, late);
    if (this.#ageMs(reading) > INTERNAL_LIMITS.keyReadMaxMs) late();
    return value;
  }

  clear(): void {
    this.#underWay = new Map();
    this.#entries.clear();
  }

  #send(key: string, read: () => Promise<T | null>): Reading<T> {
    const underWay = this.#underWay;
    const reading: Reading<T> = { sentAtMs: this.#clock.monotonicMs(), value: read() };
    underWay.set(key, reading);
    const ended = (value: T | null): void => {
      // Cleared, or overtaken by a later one.
      if (underWay !== this.#underWay || underWay.get(key) !== reading) return;
      underWay.delete(key);
      const ttl = INTERNAL_LIMITS.keyCacheMaxAgeMs - this.#ageMs(reading);
      if (value !== null && ttl > 0) this.#entries.set(key, value, { ttl });
    };
    reading.value.then(ended, () => ended(null));
    return reading;
  }

  #ageMs({ sentAtMs }: Reading<T>): number {
    return this.#clock.monotonicMs() - sentAtMs;
  }
}

function late(): never {
  throw unavailable('The service could not check in time whether the API key is still valid; try again.');
}
