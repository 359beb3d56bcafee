import { LRUCache } from 'lru-cache';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { KeyRow, KeyStore } from '../../store/keys.ts';

/** Records when keys were last used, in the background, at most once a minute per key. */
export class LastUse {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #noted: LRUCache<string, true>;
  readonly #underWay = new Set<Promise<void>>();

  constructor(store: KeyStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#noted = new LRUCache({
      max: INTERNAL_LIMITS.keyCacheMaxEntries,
      ttl: INTERNAL_LIMITS.keyLastUsedMinIntervalMs,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() },
    });
  }

  note(key: KeyRow): void {
    if (this.#noted.has(key.id)) return;
    this.#noted.set(key.id, true);
    const wallMs = this.#clock.wallMs();
    // Another node may have recorded it, or this one before a restart.
    const sinceMs = key.lastUsedAt === null ? Number.POSITIVE_INFINITY : wallMs - Date.parse(key.lastUsedAt);
    if (sinceMs < INTERNAL_LIMITS.keyLastUsedMinIntervalMs) return;
    const noting = this.#store
      .touch(key.id, new Date(wallMs).toISOString())
      // The recorded time stays older; a use in a minute or later records it.
      .catch(() => undefined)
      .finally(() => this.#underWay.delete(noting));
    this.#underWay.add(noting);
  }

  /** Resolves when no update is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}
