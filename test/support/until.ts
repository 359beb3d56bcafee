import { setTimeout as delay } from 'node:timers/promises';

const MAX_MS = 90_000;

/**
 * Repeats `check` until it returns something other than false, null or undefined, and returns that.
 * Fails after 90 s with `what` in the message.
 */
export async function until<T>(
  what: string,
  check: () => Promise<T | false | null | undefined> | T | false | null | undefined,
): Promise<T> {
  const end = performance.now() + MAX_MS;
  for (;;) {
    const found = await check();
    if (found !== false && found !== null && found !== undefined) return found;
    if (performance.now() > end) throw new Error(`It never came true that ${what}.`);
    await delay(10);
  }
}
