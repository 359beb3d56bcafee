import { ONCE, type Operations } from '../api/generated.ts';
import { APIConnectionError, APIStatusError, APITimeoutError } from './errors.ts';

/** 502 and 504 come from proxies. */
const PASSING = [502, 503, 504];
/** With four retries 3.75 to 7.5 s in all: a service that is started anew is there again. */
const FIRST_WAIT_MS = 500;
const WAIT_MAX_MS = 8_000;

/** Whether the same request may succeed, and do no more than once what it asks for. */
export function mayRetry(operation: keyof Operations, error: unknown): boolean {
  if (error instanceof APIStatusError && error.status === 429) return error.code !== 'PLAN_LIMIT_REACHED';
  // It would begin anew, and take as long.
  if (error instanceof APITimeoutError && operation === 'verifyCollection') return false;
  const isStatus = error instanceof APIStatusError && PASSING.includes(error.status);
  return (isStatus || error instanceof APIConnectionError) && !ONCE.has(operation);
}

/**
 * How long to wait before retry number `retry` (from 0 on): exponential, half of it random so that
 * clients do not come back all at once, and that much longer than the server asks for. `null`: the
 * server asks for more than `maxMs`.
 */
export function retryWaitMs(retry: number, error: unknown, maxMs: number): number | null {
  const asked = error instanceof APIStatusError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  if (asked > maxMs) return null;
  return asked + ((1 + Math.random()) / 2) * Math.min(FIRST_WAIT_MS * 2 ** retry, WAIT_MAX_MS);
}

/** Rejects with the signal's reason as soon as it is aborted. */
export function waited(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', give);
      resolve();
    }, ms);
    if (signal?.aborted) give();
    else signal?.addEventListener('abort', give, { once: true });
  });
}
