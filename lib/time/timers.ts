import { setTimeout as delay } from 'node:timers/promises';

/** Timers that the cluster's logic uses; the simulator supplies its own. */
export interface Timers {
  /** Calls `run` once after `ms` milliseconds, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void;
}

/** Resolves when `work` has settled or `ms` milliseconds have passed. */
export function settledWithin(timers: Timers, work: Promise<unknown>, ms: number): Promise<void> {
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

/** Returns the result of `work` if it arrives within `ms` milliseconds, else that of `late`. */
export async function withTimeLimit<T>(work: Promise<T>, ms: number, late: () => T | Promise<T>): Promise<T> {
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

/**
 * Resolves after `ms` milliseconds, or as soon as the signal aborts. Never rejects. Without `ref`,
 * the timer does not keep the process alive.
 */
export async function pause(ms: number, signal: AbortSignal, ref = true): Promise<void> {
  // Rejects only when the signal aborts.
  await delay(ms, undefined, { signal, ref }).catch(() => undefined);
}
