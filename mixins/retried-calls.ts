/**
 * Repeats calls that failed because nodes stop and start.
 *
 * A call is repeated if the node refused it because it no longer runs the service, if it never
 * reached the node (transport/lost-calls.ts, transport/undelivered.ts) or if no node is known: it
 * had no effect then. A call with unknown outcome is repeated only if it may run twice
 * (contracts/actions/repeatable.ts).
 * It fails with the last error a few seconds after the first failure, or when the caller's time is
 * over. Calls about a shard have their own router.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { Errors, type Middleware } from 'moleculer';
import { isRepeatable } from '../contracts/actions/repeatable.ts';
import { isUnsent } from '../transport/undelivered.ts';
import type { Call } from './shard-router/shard-calls.ts';

const PATIENCE_MS = 5_000;
const PAUSE_FIRST_MS = 10;
const PAUSE_MAX_MS = 250;

export const retriedCalls: Middleware = {
  name: 'RetriedCalls',
  call: (next: Call): Call => {
    return async (action, params, options = {}) => {
      // Moleculer's web gateway passes the endpoint that it chose instead of the action's name.
      const name = typeof action === 'string' ? action : (action as { action: { name: string } }).action.name;
      if (options.nodeID !== undefined || name.startsWith('shards.') || name.startsWith('$'))
        return next(action, params, options);
      // Read first, because Moleculer changes it in the options.
      const timeoutMs = options.timeout || null;
      const untilMs = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
      let patientUntilMs: number | null = null;
      let target = action;
      let asked = options;
      for (let pauseMs = PAUSE_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
        try {
          return await next(target, params, asked);
        } catch (error) {
          const monotonicMs = performance.now();
          // Starts with the first failure, because a lost call may be detected long after it was
          // sent.
          patientUntilMs ??= monotonicMs + PATIENCE_MS;
          if (!mayRetry(error, name) || monotonicMs + pauseMs > Math.min(untilMs, patientUntilMs)) throw error;
        }
        await delay(pauseMs);
        target = name;
        if (timeoutMs !== null) asked = { ...options, timeout: Math.max(1, untilMs - performance.now()) };
      }
    };
  },
} as unknown as Middleware;

/** Whether this call may be repeated. Errors of calls that its action made do not count. */
function mayRetry(error: unknown, action: string): boolean {
  if (!(error instanceof Errors.MoleculerError)) return false;
  if ((error.data as { action?: string } | null)?.action !== action) return false;
  return isUnsent(error) || (error.name === 'RequestRejectedError' && isRepeatable(action));
}
