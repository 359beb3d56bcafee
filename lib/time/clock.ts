/** Time as the service sees it; tests put their own in its place. */
export interface Clock {
  /** Milliseconds since the epoch, for people and months only. */
  wallMs(): number;
  /** Milliseconds on a clock that never jumps, for time-outs and ages. */
  monotonicMs(): number;
}

export const SYSTEM_CLOCK: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
