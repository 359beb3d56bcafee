import { setTimeout as delay } from 'node:timers/promises';

/** How often something may be done. */
export interface Rate {
  perSecond: number;
  /** Done at once after a pause. */
  burst: number;
}

/**
 * Resolves when it is one's turn: true; false at once, and the turn is not taken, when it would
 * come after `maxMs`. Rejects when the signal ends the wait.
 */
export type Turns = (maxMs: number, signal: AbortSignal) => Promise<boolean>;

/**
 * Spaces calls out to a rate, in the order in which they come (generic cell rate algorithm, ITU-T
 * I.371).
 */
export function turnsAt({ perSecond, burst }: Rate, monotonicMs: () => number): Turns {
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
