/**
 * Makes calls again that no node took, so that none fails while nodes stop and start.
 *
 * Promises: a call that the asked node refused because it does not run the service any more, or for which no node is known at the moment, goes to another node as soon as
 * there is one. Nothing was done of such a call, so it may be made again whatever it does.
 * How it fails: after a few seconds, or when the caller's time is over, with the error of the last attempt. What is about a shard has a router of its own.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { Errors, type Middleware } from 'moleculer';

const PATIENCE_MS = 5_000;
const PAUSE_FIRST_MS = 10;
const PAUSE_MAX_MS = 250;

interface CallOptions {
  nodeID?: string;
  timeout?: number;
  [name: string]: unknown;
}
/** Moleculer's web gateway hands over the endpoint that it chose in place of the action's name. */
type Action = string | { action: { name: string } };
type Call = (action: Action, params?: unknown, options?: CallOptions) => Promise<unknown>;

export const unservedCalls: Middleware = {
  name: 'UnservedCalls',
  call: (next: Call): Call => {
    return async (action, params, options = {}) => {
      const name = typeof action === 'string' ? action : action.action.name;
      if (options.nodeID !== undefined || name.startsWith('shards.') || name.startsWith('$'))
        return next(action, params, options);
      const patienceMs = Math.min(PATIENCE_MS, options.timeout || PATIENCE_MS);
      const untilMs = performance.now() + patienceMs;
      let target = action;
      for (let pauseMs = PAUSE_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
        try {
          return await next(target, params, options);
        } catch (error) {
          if (!isUnserved(error, name) || performance.now() + pauseMs > untilMs) throw error;
        }
        await delay(pauseMs);
        target = name;
      }
    };
  },
} as unknown as Middleware;

/** Whether this very call was not taken; one that its action made on the way is another matter. */
function isUnserved(error: unknown, action: string): boolean {
  if (!(error instanceof Errors.MoleculerError)) return false;
  const { name, data } = error;
  if (name !== 'ServiceNotFoundError' && name !== 'ServiceNotAvailableError') return false;
  return (data as { action?: string } | null)?.action === action;
}
