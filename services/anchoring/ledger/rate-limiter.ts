import { setTimeout as delay } from 'node:timers/promises';

/** How often something may be done. */
export interface Rate {
  perSecond: number;
  /** Done at once after a pause. */
  burst: number;
}

/**
 * Spaces calls out to a rate, in the order in which they come (generic cell rate algorithm, ITU-T
 * I.371).
 */
export class RateLimiter {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #monotonicMs: () => number;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor({ perSecond, burst }: Rate, monotonicMs: () => number) {
    this.#intervalMs = 1_000 / perSecond;
    this.#burstMs = (burst - 1) * this.#intervalMs;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Resolves when it is one's turn: true; false at once, and the turn is not taken, when it would
   * come after `maxMs`. Rejects when the signal ends the wait.
   */
  async turn(maxMs: number, signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#monotonicMs();
    const atMs = Math.max(this.#nextMs, nowMs);
    const waitMs = atMs - this.#burstMs - nowMs;
    if (waitMs > maxMs) return false;
    this.#nextMs = atMs + this.#intervalMs;
    if (waitMs > 0) await delay(waitMs, undefined, { signal });
    return true;
  }
}
