interface ObservedCounter {
  beat: number | null;
  sinceMs: number;
}

/**
 * Measures how long counters in the store have not changed, on this instance's monotonic clock, to
 * detect dead owners without comparing clocks.
 */
export class CounterAges {
  readonly #monotonicMs: () => number;
  #known = new Map<string, ObservedCounter>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Records all counters of one read; forgets those that are not among them. */
  observe(counters: Iterable<readonly [key: string, beat: number | null]>): void {
    const monotonicMs = this.#monotonicMs();
    const next = new Map<string, ObservedCounter>();
    for (const [key, beat] of counters) {
      const before = this.#known.get(key);
      next.set(key, before?.beat === beat ? before : { beat, sinceMs: monotonicMs });
    }
    this.#known = next;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Returns how long, in ms, a counter had not changed at a read that began at `askedAtMs`. */
  unchangedMs(key: string, askedAtMs: number): number {
    const sighting = this.#known.get(key);
    return sighting === undefined ? 0 : Math.max(0, askedAtMs - sighting.sinceMs);
  }
}
