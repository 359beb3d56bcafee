import type { ActionSchema, Context } from 'moleculer';

/**
 * An action with a time-out of its own in place of the broker's (0: none). Moleculer reads
 * `timeout`, though its types leave it out.
 */
export function timedAction<P, R>(
  timeoutMs: number,
  handler: (ctx: Context<P>) => Promise<R>,
): ActionSchema & { timeout: number } {
  return { timeout: timeoutMs, handler };
}
