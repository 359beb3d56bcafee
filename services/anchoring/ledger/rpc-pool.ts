/**
 * Several JSON-RPC endpoints of one ledger, used as one. The first working endpoint answers; failed
 * ones are skipped for a while. Calls are limited to a rate, no matter how many collections there
 * are, and a call whose turn would come too late fails at once.
 *
 * A web3.js rpc object responds to `then` and never resolves, so it must not be awaited or returned
 * from an async function. Here it is only passed as an argument.
 */
import {
  createSolanaRpcFromTransport,
  isSolanaError,
  type Rpc as RpcOf,
  type SolanaError,
  type SolanaRpcApi,
} from '@solana/web3.js';
import { backoffMs } from '../../../lib/time/backoff.ts';
import { httpTransport } from './http-transport.ts';
import { createRateLimiter, type Rate, type RateLimiter } from './rate-limiter.ts';

export type Rpc = RpcOf<SolanaRpcApi>;

/** Addresses of the ledger, read before every call: the embedded ledger can change its port. */
export interface RpcEndpoints {
  urls(): readonly string[];
  /** True for the embedded ledger, on which the authority can fund itself. */
  readonly embedded: boolean;
}

/** No endpoint answered. The message contains no URL, because URLs may contain API keys. */
export class LedgerUnreachableError extends Error {
  override name = 'LedgerUnreachableError';
}

const UNREACHED = 'No ledger endpoint can be reached.';
const CALL_TIMEOUT_MS = 5_000;
const TURN_MAX_MS = 5_000;
const LATE_MS = 2_000;
/**
 * Rate that paid endpoints allow. Public ones respond with 429 above their own limits and are then
 * skipped for a while.
 */
const RATE: Rate = { perSecond: 100, burst: 100 };
/** No other service uses the embedded ledger. */
const EMBEDDED_RATE: Rate = { perSecond: 2_000, burst: 500 };
const PAUSE = { minMs: 250, maxMs: 30_000 };
/**
 * JSON-RPC error codes that are valid answers: failed preflight, failed signature check, and the
 * three for an invalid request. After any other error (node behind, rate limit, internal error) the
 * endpoint is skipped for a while.
 */
const LEDGER_ERROR_CODES = new Set([-32002, -32003, -32600, -32601, -32602]);

/** Makes a call to one endpoint. */
export type Send<T> = (rpc: Rpc, abortSignal: AbortSignal) => Promise<T>;

interface Endpoint {
  rpc: Rpc;
  failures: number;
  /** In monotonic milliseconds. */
  pausedUntilMs: number;
  /** Running calls that test whether the endpoint works again. */
  probes: number;
}

export class RpcPool {
  readonly #endpoints: RpcEndpoints;
  readonly #known = new Map<string, Endpoint>();
  readonly #monotonicMs: () => number;
  readonly #closed = new AbortController();
  readonly #turn: RateLimiter;
  readonly #lateMs: number;

  /**
   * `rate` applies to the calls to all endpoints together. `lateMs` is how much later than the
   * first endpoint the others may answer `callEach`.
   */
  constructor(
    endpoints: RpcEndpoints,
    monotonicMs: () => number,
    rate = endpoints.embedded ? EMBEDDED_RATE : RATE,
    lateMs = LATE_MS,
  ) {
    this.#lateMs = lateMs;
    this.#turn = createRateLimiter(rate, monotonicMs);
    this.#endpoints = endpoints;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Makes one call. Throws LedgerUnreachableError if no endpoint answers, and the ledger's own
   * error if no endpoint does better.
   */
  async call<T>(send: Send<T>): Promise<T> {
    let refusal: SolanaError | null = null;
    let cause: unknown;
    const tried = new Set<Endpoint>();
    while (tried.size < this.#all().length && !this.#closed.signal.aborted) {
      // The turn fails only when the pool closes.
      if (!(await this.#turn(TURN_MAX_MS, this.#closed.signal).catch(() => false))) {
        throw refusal ?? new LedgerUnreachableError('Too many calls to the ledger.', { cause });
      }
      const endpoint = this.#next(tried);
      if (!endpoint) break;
      tried.add(endpoint);
      try {
        return await this.#try(endpoint, send);
      } catch (error) {
        // Another endpoint may accept what this one refuses, such as a method or a blockhash that
        // it does not know.
        if (isLedgerError(error)) refusal ??= error;
        else cause = error;
      }
    }
    throw refusal ?? new LedgerUnreachableError(UNREACHED, { cause });
  }

  /**
   * Calls every endpoint, and waits for none much longer than for the first. Skips those that
   * failed recently. `missing` counts the endpoints without an answer, and `cause` is the error of
   * one of them. Throws LedgerUnreachableError if none answers.
   */
  async callEach<T>(send: Send<T>): Promise<{ answers: [T, ...T[]]; missing: number; cause: unknown }> {
    const all = this.#all();
    const now = this.#monotonicMs();
    const ready = all.filter(({ pausedUntilMs }) => pausedUntilMs <= now);
    const answers: T[] = [];
    let cause: unknown;
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const ask = async (endpoint: Endpoint): Promise<void> => {
      try {
        if (!(await this.#turn(TURN_MAX_MS, this.#closed.signal))) return;
        answers.push(await this.#try(endpoint, send, late.signal));
        timer ??= setTimeout(() => late.abort(), this.#lateMs);
      } catch (error) {
        cause = error;
      }
    };
    await Promise.all((ready.length > 0 ? ready : all).map(ask));
    clearTimeout(timer);
    const [first, ...others] = answers;
    if (first === undefined) throw new LedgerUnreachableError(UNREACHED, { cause });
    return { answers: [first, ...others], missing: all.length - answers.length, cause };
  }

  /** Aborts running calls and refuses new ones, so a stop need not wait for endpoints. */
  close(): void {
    this.#closed.abort();
  }

  /** Makes a call and records whether the endpoint works. Being late is not a failure. */
  async #try<T>(endpoint: Endpoint, send: Send<T>, late = this.#closed.signal): Promise<T> {
    const { failures } = endpoint;
    if (failures > 0) endpoint.probes += 1;
    try {
      const answer = await this.#ask(endpoint, send, late);
      endpoint.failures = 0;
      endpoint.pausedUntilMs = 0;
      return answer;
    } catch (error) {
      // Concurrent calls that fail together count as one failure.
      if (!isLedgerError(error) && !late.aborted && endpoint.failures === failures) {
        endpoint.pausedUntilMs = this.#monotonicMs() + backoffMs(failures, PAUSE);
        endpoint.failures += 1;
      }
      throw error;
    } finally {
      if (failures > 0) endpoint.probes -= 1;
    }
  }

  async #ask<T>({ rpc }: Endpoint, send: Send<T>, late: AbortSignal): Promise<T> {
    // Combined in one call: nested AbortSignal.any signals are never garbage collected.
    const signal = AbortSignal.any([AbortSignal.timeout(CALL_TIMEOUT_MS), this.#closed.signal, late]);
    try {
      return await send(rpc, signal);
    } catch (error) {
      // The endpoint may have closed the connection just as it was reused. All calls are safe to
      // repeat.
      if (!isCutOff(error) || signal.aborted) throw error;
      return await send(rpc, signal);
    }
  }

  /**
   * Returns the first configured endpoint that is not paused, else the one whose pause ends first.
   * After its pause, an endpoint gets only one call at a time while there are others.
   */
  #next(tried: ReadonlySet<Endpoint>): Endpoint | undefined {
    const now = this.#monotonicMs();
    const waitsUntil = ({ probes, pausedUntilMs }: Endpoint) =>
      probes > 0 ? Number.MAX_VALUE : Math.max(pausedUntilMs, now);
    const left = this.#all().filter((endpoint) => !tried.has(endpoint));
    return left.sort((one, other) => waitsUntil(one) - waitsUntil(other))[0];
  }

  #all(): Endpoint[] {
    const urls = this.#endpoints.urls();
    for (const url of this.#known.keys()) if (!urls.includes(url)) this.#known.delete(url);
    return urls.map((url) => {
      const endpoint = this.#known.get(url) ?? newEndpoint(url);
      this.#known.set(url, endpoint);
      return endpoint;
    });
  }
}

function newEndpoint(url: string): Endpoint {
  return { rpc: createSolanaRpcFromTransport(httpTransport(url)), failures: 0, pausedUntilMs: 0, probes: 0 };
}

/** Returns true if a ledger node refused the request, which is no fault of the endpoint. */
export function isLedgerError(error: unknown): error is SolanaError {
  return isSolanaError(error) && LEDGER_ERROR_CODES.has(error.context.__code);
}

function isCutOff(error: unknown): boolean {
  const code = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined)?.code : undefined;
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
}
