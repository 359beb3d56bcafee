import { ONCE, type Operations } from '../api/generated.ts';
import { APIConnectionError, APIStatusError, APITimeoutError, withExplanation } from './errors.ts';

/** 502 and 504 come from proxies. */
const TRANSIENT_STATUSES = [502, 503, 504];
/** Error codes of Node, undici and OpenSSL for a wrong host, certificate, option or protocol. */
const PERMANENT_CODES =
  /^(ENOTFOUND|EPROTO|UNSPECIFIED|PATH_LENGTH_|HPE_(?!INVALID_EOF)|(UND_)?ERR_(TLS|SSL|INVALID|NOT_SUPPORTED)|UNABLE_TO_)|CERT|CRL|SELF_SIGNED|HOSTNAME|_(CA|PURPOSE|SIGNATURE)$/;
const FIRST_WAIT_MS = 500;
const WAIT_MAX_MS = 8_000;
/** Maximum delay of a timer in ms. Timers with a longer delay fire at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1;
/** Time, in ms, by which a timer may fire early. */
const TIMER_MS = 1;

export interface RetryOptions {
  /** Time in ms from the first failure to the last retry. */
  retryForMs: number;
  maxRetries: number;
  maxRetryAfterMs: number;
}

/** Decides on the retries of one call. */
export class Retries {
  readonly #operation: keyof Operations;
  readonly #isRepeatable: boolean;
  readonly #options: RetryOptions;
  readonly #nowMs: () => number;
  readonly #beganMs: number;
  #failedMs: number | undefined;
  #attempts = 0;

  /** `isRepeatable`: whether the body can be sent twice. */
  constructor(
    operation: keyof Operations,
    isRepeatable: boolean,
    options: RetryOptions,
    nowMs = () => performance.now(),
  ) {
    this.#operation = operation;
    this.#isRepeatable = isRepeatable;
    this.#options = options;
    this.#nowMs = nowMs;
    this.#beganMs = nowMs();
  }

  /** Returns the ms to wait before the next attempt. Throws the error, explained, to give up. */
  waitMs(error: unknown): number {
    this.#attempts++;
    this.#failedMs ??= this.#nowMs();
    if (!isTransient(this.#operation, error)) throw error;
    if (ONCE.has(this.#operation) && !isRateLimit(error))
      throw withExplanation(error, 'It was not repeated, since the service may have carried it out.');
    if (!this.#isRepeatable)
      throw withExplanation(error, 'It was not repeated, since its source cannot be read twice.');
    const { maxRetries, maxRetryAfterMs, retryForMs } = this.#options;
    const leftMs = this.#failedMs + retryForMs - this.#nowMs();
    if (this.#attempts > maxRetries || leftMs <= TIMER_MS) throw this.#givenUp(error);
    const askedMs = askedWaitMs(error);
    if (askedMs > Math.min(maxRetryAfterMs, leftMs))
      throw withExplanation(error, `The client gave up: the service asked it to wait ${askedMs / 1_000} s.`);
    return Math.min(retryWaitMs(this.#attempts - 1, askedMs), leftMs);
  }

  #givenUp(error: unknown): unknown {
    if (this.#attempts === 1) return error;
    const seconds = ((this.#nowMs() - this.#beganMs) / 1_000).toFixed(1);
    return withExplanation(error, `The client gave up after ${this.#attempts} attempts in ${seconds} s.`);
  }
}

/** Whether the same request may succeed later. */
function isTransient(operation: keyof Operations, error: unknown): boolean {
  if (error instanceof APIStatusError) return TRANSIENT_STATUSES.includes(error.status) || isRateLimit(error);
  // A retry would start the verification again and take just as long.
  if (error instanceof APITimeoutError && operation === 'verifyCollection') return false;
  return error instanceof APIConnectionError && !isPermanent(error as { cause?: unknown });
}

const isRateLimit = (error: unknown): boolean =>
  error instanceof APIStatusError && error.status === 429 && error.code !== 'PLAN_LIMIT_REACHED';

/** Checks the first cause that has a code. The error for a port that fetch blocks has none. */
function isPermanent({ code, message, cause }: { code?: unknown; message?: unknown; cause?: unknown }): boolean {
  if (typeof code === 'string') return PERMANENT_CODES.test(code);
  if (message === 'bad port') return true;
  return typeof cause === 'object' && cause !== null && isPermanent(cause);
}

const askedWaitMs = (error: unknown): number =>
  error instanceof APIStatusError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;

/**
 * Returns the ms to wait before retry number `retry`, counted from 0: the wait that the service
 * asks for, plus exponential backoff. Half of the backoff is random, so that clients do not all
 * retry at once.
 */
export function retryWaitMs(retry: number, askedMs: number): number {
  return askedMs + ((1 + Math.random()) / 2) * Math.min(FIRST_WAIT_MS * 2 ** retry, WAIT_MAX_MS);
}

/** Waits. Rejects with the signal's reason as soon as it is aborted. */
export function waitUnlessAborted(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', give);
        resolve();
      },
      Math.min(ms, TIMER_MAX_MS),
    );
    if (signal?.aborted) give();
    else signal?.addEventListener('abort', give, { once: true });
  });
}
