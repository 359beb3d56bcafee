/**
 * Time constant of the average, in ms: after it an old load weighs about a third. It is shorter
 * than a shard's minimum stay and longer than a burst.
 */
const MEMORY_MS = 60_000;

/** Updates and returns the average. `busyMs` is the running total, or null if there was no work. */
export type LoadAverage = (busyMs: number | null, monotonicMs: number) => number;

/**
 * Returns an exponential moving average of the number of worker threads kept busy. It is fed
 * running totals of busy time, which restart at zero when the shard is reloaded and are null while
 * unknown.
 */
export function loadAverage(sinceMs: number, busyMs: number | null = 0): LoadAverage {
  let atMs = sinceMs;
  let knownMs = busyMs;
  let average = 0;
  return (busyMs, monotonicMs) => {
    const elapsedMs = monotonicMs - atMs;
    if (elapsedMs <= 0) return average;
    const load = Math.max(0, (busyMs ?? 0) - (knownMs ?? busyMs ?? 0)) / elapsedMs;
    average += (load - average) * (1 - Math.exp(-elapsedMs / MEMORY_MS));
    atMs = monotonicMs;
    knownMs = busyMs ?? knownMs;
    return average;
  };
}
