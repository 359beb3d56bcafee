/** Timers as the cluster's logic sees them; the simulator puts its own in their place. */
export interface Timers {
  /** Calls `run` once after `ms` milliseconds, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void;
}

export const SYSTEM_TIMERS: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
