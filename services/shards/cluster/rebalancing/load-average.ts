/**
 * After this time an old load counts for a third. Shorter than a shard rests after a move, longer
 * than a burst.
 */
const MEMORY_MS = 60_000;

/**
 * Worker threads kept busy, as an exponential average over time, from a total of busy time, which
 * begins anew when the shard is loaded anew.
 */
export class LoadAverage {
  #atMs: number;
  /** Null until it is known. */
  #busyMs: number | null;
  #average = 0;

  constructor(nowMs: number, busyMs: number | null = 0) {
    this.#atMs = nowMs;
    this.#busyMs = busyMs;
  }

  /** `busyMs`: the total by now; null: there was nothing to do. */
  sample(busyMs: number | null, nowMs: number): number {
    const elapsedMs = nowMs - this.#atMs;
    if (elapsedMs <= 0) return this.#average;
    const load = Math.max(0, (busyMs ?? 0) - (this.#busyMs ?? busyMs ?? 0)) / elapsedMs;
    this.#average += (load - this.#average) * (1 - Math.exp(-elapsedMs / MEMORY_MS));
    this.#atMs = nowMs;
    this.#busyMs = busyMs ?? this.#busyMs;
    return this.#average;
  }
}
