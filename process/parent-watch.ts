const CHECK_MS = 500;

/**
 * Environment variable with the pid of the process that this one ends with. Default: its parent.
 */
export const SUPERVISOR_PID = 'SUPERVISOR_PID';

/**
 * Calls `onGone` once after this process's parent has ended. There is no other notification: npm
 * passes signals only to its shell, some shells do not pass them on, and a killed process cannot.
 * `expected` is needed if the parent may end before this call.
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
