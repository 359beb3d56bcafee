/**
 * Makes calls again that no node took, so that none fails while nodes stop and start, and reads
 * that a node took with it when it died.
 *
 * Promises: a call that the asked node refused because it does not run the service any more, that
 * never came there (transport/lost-calls.ts, transport/undelivered.ts), or for which no node is
 * known at the moment, goes to another node as soon as there is one. Nothing was done of such a
 * call, so it may be made again whatever it does. One whose outcome is open is made again if it may
 * be made twice (lib/actions/repeatable.ts).
 * How it fails: a few seconds after it first failed so, or when the caller's time is over, with the
 * error of the last attempt. What is about a shard has a router of its own.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { Errors, type Middleware } from 'moleculer';
import { isRepeatable } from '../lib/actions/repeatable.ts';
import type { Call } from './shard-router/shard-calls.ts';
import { isUnsent } from './transport/undelivered.ts';

const PATIENCE_MS = 5_000;
const PAUSE_FIRST_MS = 10;
const PAUSE_MAX_MS = 250;

export const retriedCalls: Middleware = {
  name: 'RetriedCalls',
  call: (next: Call): Call => {
    return async (action, params, options = {}) => {
      // Moleculer's web gateway hands over the endpoint that it chose in place of the action's
      // name.
      const name = typeof action === 'string' ? action : (action as { action: { name: string } }).action.name;
      if (options.nodeID !== undefined || name.startsWith('shards.') || name.startsWith('$'))
        return next(action, params, options);
      // Moleculer sets it in the options that it is given.
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
          // That it was lost on the way may come out long after it was sent.
          patientUntilMs ??= monotonicMs + PATIENCE_MS;
          if (!isToBeRepeated(error, name) || monotonicMs + pauseMs > Math.min(untilMs, patientUntilMs)) throw error;
        }
        await delay(pauseMs);
        target = name;
        if (timeoutMs !== null) asked = { ...options, timeout: Math.max(1, untilMs - performance.now()) };
      }
    };
  },
} as unknown as Middleware;

/** Says so of this very call only; one that its action made on the way is another matter. */
function isToBeRepeated(error: unknown, action: string): boolean {
  if (!(error instanceof Errors.MoleculerError)) return false;
  if ((error.data as { action?: string } | null)?.action !== action) return false;
  return isUnsent(error) || (error.name === 'RequestRejectedError' && isRepeatable(action));
}
