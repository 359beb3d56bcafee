import type { ActionSchema, Context } from 'moleculer';

/** Defines an action with its own timeout (0: none). Moleculer reads it, but its types omit it. */
export function timedAction<P, R>(
  timeoutMs: number,
  handler: (ctx: Context<P>) => Promise<R>,
): ActionSchema & { timeout: number } {
  return { timeout: timeoutMs, handler };
}
