const CHECK_MS = 500;

/** The process that started this one and ends with it; without it, this one's parent. */
export const SUPERVISOR_PID = 'SUPERVISOR_PID';

/**
 * Calls `onGone` once when this process's parent has ended. Nothing else tells: npm hands a signal
 * to its shell, and not every shell hands it on; and who is killed cannot hand on anything.
 * `expected` is needed where the parent may end before this is called.
 */
export function watchParent(onGone: () => void, expected: string | undefined = process.env[SUPERVISOR_PID]): void {
  const parent = expected === undefined ? process.ppid : Number(expected);
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, CHECK_MS);
  timer.unref();
}
