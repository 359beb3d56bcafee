/** Source of time for the service; tests supply their own. */
export interface Clock {
  /** Milliseconds since the epoch, for people and months only. */
  wallMs(): number;
  /** Milliseconds on a clock that never jumps, for timeouts and ages. */
  monotonicMs(): number;
}

export const SYSTEM_CLOCK: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
