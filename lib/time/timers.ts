/** Timers as the cluster's logic sees them; the simulator puts its own in their place. */
export interface Timers {
  /** Calls `run` once after `ms` milliseconds, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void;
}

/** Resolves when `work` has ended, in whatever way, or `ms` milliseconds have gone by. */
export function endedWithin(timers: Timers, work: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = timers.after(ms, resolve);
    const ended = (): void => {
      cancel();
      resolve();
    };
    work.then(ended, ended);
  });
}

export const SYSTEM_TIMERS: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * What `work` gives where that comes within `ms` milliseconds, else what `late` gives or throws.
 */
export async function within<T>(work: Promise<T>, ms: number, late: () => T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([work, over.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
