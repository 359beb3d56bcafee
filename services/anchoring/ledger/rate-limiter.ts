import { setTimeout as delay } from 'node:timers/promises';

export interface Rate {
  perSecond: number;
  /** Number of calls allowed at once after a pause. */
  burst: number;
}

/**
 * Waits for the caller's turn. Returns true when it comes, or false at once, without using a turn,
 * if that would take longer than `maxMs`. Rejects if the signal aborts.
 */
export type RateLimiter = (maxMs: number, signal: AbortSignal) => Promise<boolean>;

/** Spaces calls to a rate, first come, first served (generic cell rate algorithm, ITU-T I.371). */
export function createRateLimiter({ perSecond, burst }: Rate, monotonicMs: () => number): RateLimiter {
  const intervalMs = 1_000 / perSecond;
  const burstMs = (burst - 1) * intervalMs;
  let nextMs = Number.NEGATIVE_INFINITY;
  return async (maxMs, signal) => {
    const askedMs = monotonicMs();
    const atMs = Math.max(nextMs, askedMs);
    const waitMs = atMs - burstMs - askedMs;
    if (waitMs > maxMs) return false;
    nextMs = atMs + intervalMs;
    if (waitMs > 0) await delay(waitMs, undefined, { signal });
    return true;
  };
}
