/**
 * After this time an old load counts for a third. Shorter than a shard rests after a move, longer
 * than a burst.
 */
const MEMORY_MS = 60_000;

/** `busyMs`: the total by now; null: there was nothing to do. */
export type LoadAverage = (busyMs: number | null, monotonicMs: number) => number;

/**
 * Worker threads kept busy, as an exponential average over time, from a total of busy time, which
 * begins anew when the shard is loaded anew; `busyMs` is null until it is known.
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
