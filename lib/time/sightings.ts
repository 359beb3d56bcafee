interface Sighting {
  beat: number | null;
  sinceMs: number;
}

/**
 * For how long counters in the store have stood still, on this instance's own monotonic clock: the
 * only way to tell that their holders are gone without comparing clocks.
 */
export class Sightings {
  readonly #monotonicMs: () => number;
  #known = new Map<string, Sighting>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Takes in all counters of one reading; what is not among them is forgotten. */
  observe(counters: Iterable<readonly [key: string, beat: number | null]>): void {
    const monotonicMs = this.#monotonicMs();
    const next = new Map<string, Sighting>();
    for (const [key, beat] of counters) {
      const before = this.#known.get(key);
      next.set(key, before?.beat === beat ? before : { beat, sinceMs: monotonicMs });
    }
    this.#known = next;
  }

  get size(): number {
    return this.#known.size;
  }

  /**
   * Milliseconds for which a counter was seen unchanged until a reading that began at `askedAtMs`;
   * 0 for one that was not seen.
   */
  unchangedMs(key: string, askedAtMs: number): number {
    const sighting = this.#known.get(key);
    return sighting === undefined ? 0 : Math.max(0, askedAtMs - sighting.sinceMs);
  }
}
