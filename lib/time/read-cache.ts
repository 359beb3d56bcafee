/**
 * Caches keys, accounts and plans read from the store.
 *
 * No result is older than `keyCacheMaxAgeMs`, counted from when its read was sent, unless the read
 * itself took longer; one that takes longer than `keyReadMaxMs` is rejected. So a revocation or
 * change takes effect on every node within that time, with or without events. Requests share a read
 * under way, so a key in use costs two reads a second. `forget` drops changed values at once.
 * A node cut off from the store trusts its cache for half a second and then answers UNAVAILABLE.
 */
import { LRUCache } from 'lru-cache';
import { unavailable } from '../errors.ts';
import { INTERNAL_LIMITS } from '../limits.ts';
import type { Clock } from './clock.ts';
import { withTimeLimit } from './timers.ts';

interface CacheRead<T> {
  sentAtMs: number;
  value: Promise<T | null>;
}

export class ReadCache<T extends object> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #late: () => never;
  readonly #entries: LRUCache<string, T>;
  #underWay = new Map<string, CacheRead<T>>();

  /** `lateMessage` is that of the UNAVAILABLE for a read that is slow. */
  constructor(clock: Pick<Clock, 'monotonicMs'>, lateMessage: string) {
    this.#clock = clock;
    this.#late = () => {
      throw unavailable(lateMessage);
    };
    this.#entries = new LRUCache({
      max: INTERNAL_LIMITS.keyCacheMaxEntries,
      ttl: INTERNAL_LIMITS.keyCacheMaxAgeMs,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() },
    });
  }

  /**
   * Returns the cached value or reads it; null is not cached. Throws UNAVAILABLE if that is slow.
   */
  async get(key: string, read: () => Promise<T | null>): Promise<T | null> {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const underWay = this.#underWay.get(key);
    const isShared = underWay !== undefined && this.#ageMs(underWay) < INTERNAL_LIMITS.keyCacheMaxAgeMs;
    const reading = isShared ? underWay : this.#send(key, read);
    const value = await withTimeLimit(reading.value, INTERNAL_LIMITS.keyReadMaxMs, this.#late);
    if (this.#ageMs(reading) > INTERNAL_LIMITS.keyReadMaxMs) this.#late();
    return value;
  }

  /**
   * Drops the values that changed. No later request shares a read that is under way, and no such
   * read is cached: its value is not known yet, so it may be an outdated one.
   */
  forget(hasChanged: (value: T) => boolean): void {
    this.#underWay = new Map();
    for (const [key, value] of this.#entries) if (hasChanged(value)) this.#entries.delete(key);
  }

  #send(key: string, read: () => Promise<T | null>): CacheRead<T> {
    const underWay = this.#underWay;
    const reading: CacheRead<T> = { sentAtMs: this.#clock.monotonicMs(), value: read() };
    underWay.set(key, reading);
    const ended = (value: T | null): void => {
      // A value was forgotten meanwhile, or a later read has taken over.
      if (underWay !== this.#underWay || underWay.get(key) !== reading) return;
      underWay.delete(key);
      const ttl = INTERNAL_LIMITS.keyCacheMaxAgeMs - this.#ageMs(reading);
      if (value !== null && ttl > 0) this.#entries.set(key, value, { ttl });
    };
    reading.value.then(ended, () => ended(null));
    return reading;
  }

  #ageMs({ sentAtMs }: CacheRead<T>): number {
    return this.#clock.monotonicMs() - sentAtMs;
  }
}
