/**
 * Several JSON-RPC endpoints of one ledger used as one: the first that works answers, one that
 * failed is passed over for a while. Calls are spaced out, so that however many collections there
 * are an endpoint is asked no more often than it likes; a call whose turn would come too late fails
 * at once.
 *
 * An rpc object of web3.js answers to `then` and never resolves: it must not be awaited or returned
 * from an async function. Here it only ever travels as an argument.
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
import { type Rate, type Turns, turnsAt } from './rate-limiter.ts';

export type Rpc = RpcOf<SolanaRpcApi>;

/**
 * Where the ledger is; asked before every call, because the embedded ledger may move to another
 * port.
 */
export interface RpcEndpoints {
  urls(): readonly string[];
  /** Whether this is the embedded ledger, which pays for itself. */
  readonly embedded: boolean;
}

/** No endpoint gave an answer; the message names no URL, because URLs carry API keys. */
export class LedgerUnreachableError extends Error {
  override name = 'LedgerUnreachableError';
}

const UNREACHED = 'No ledger endpoint can be reached.';
const CALL_TIMEOUT_MS = 5_000;
const TURN_MAX_MS = 5_000;
const LATE_MS = 2_000;
/**
 * What paid endpoints allow; public ones answer 429 above their own limits, and are passed over for
 * a while then.
 */
const RATE: Rate = { perSecond: 100, burst: 100 };
/** The embedded ledger is ours alone. */
const EMBEDDED_RATE: Rate = { perSecond: 2_000, burst: 500 };
const PAUSE = { minMs: 250, maxMs: 30_000 };
/**
 * JSON-RPC errors that are the ledger's answer and not the endpoint's fault: failed preflight,
 * failed signature check, and the three of a wrong request. After all others (node behind, rate
 * limit, internal error) an endpoint is passed over for a while.
 */
const ANSWERS = new Set([-32002, -32003, -32600, -32601, -32602]);

/** What is asked of one endpoint. */
export type Send<T> = (rpc: Rpc, abortSignal: AbortSignal) => Promise<T>;

interface Endpoint {
  rpc: Rpc;
  failures: number;
  /** On the monotonic clock. */
  pausedUntilMs: number;
  /** Calls under way that show whether it works again. */
  probes: number;
}

export class RpcPool {
  readonly #endpoints: RpcEndpoints;
  readonly #known = new Map<string, Endpoint>();
  readonly #monotonicMs: () => number;
  readonly #closed = new AbortController();
  readonly #turn: Turns;
  readonly #lateMs: number;

  /**
   * `rate` is that of calls to all endpoints together, by default what suits them; `lateMs` is how
   * much later than the first of several to answer the others may do so.
   */
  constructor(
    endpoints: RpcEndpoints,
    monotonicMs: () => number,
    rate = endpoints.embedded ? EMBEDDED_RATE : RATE,
    lateMs = LATE_MS,
  ) {
    this.#lateMs = lateMs;
    this.#turn = turnsAt(rate, monotonicMs);
    this.#endpoints = endpoints;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Makes one call. Throws LedgerUnreachableError when no endpoint answers, and the ledger's own
   * errors as they are where no endpoint does better.
   */
  async call<T>(send: Send<T>): Promise<T> {
    let refusal: SolanaError | null = null;
    let cause: unknown;
    const tried = new Set<Endpoint>();
    while (tried.size < this.#all().length && !this.#closed.signal.aborted) {
      if (!(await this.#turn(TURN_MAX_MS, this.#closed.signal).catch(() => false))) {
        throw refusal ?? new LedgerUnreachableError('The ledger is asked too often.', { cause });
      }
      const endpoint = this.#next(tried);
      if (!endpoint) break;
      tried.add(endpoint);
      try {
        return await this.#try(endpoint, send);
      } catch (error) {
        // What one endpoint refuses, as a method that it lacks or a blockhash that it does not know
        // yet, another one may take.
        if (isAnswer(error)) refusal ??= error;
        else cause = error;
      }
    }
    throw refusal ?? new LedgerUnreachableError(UNREACHED, { cause });
  }

  /**
   * Makes one call to each endpoint, and waits for none much longer than for the first; those that
   * failed of late are left out for a while. `missing` are the endpoints without an answer, `cause`
   * why one of them has none. Throws LedgerUnreachableError when none answers.
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

  /**
   * Ends calls in flight and refuses new ones, so that a stop need not wait for a silent endpoint.
   */
  close(): void {
    this.#closed.abort();
  }

  /** Keeps account of whether the endpoint works; to be late is no failure. */
  async #try<T>(endpoint: Endpoint, send: Send<T>, late = this.#closed.signal): Promise<T> {
    const { failures } = endpoint;
    if (failures > 0) endpoint.probes += 1;
    try {
      const answer = await this.#ask(endpoint, send, late);
      endpoint.failures = 0;
      endpoint.pausedUntilMs = 0;
      return answer;
    } catch (error) {
      // Calls that were under way at the same time failed for one reason.
      if (!isAnswer(error) && !late.aborted && endpoint.failures === failures) {
        endpoint.pausedUntilMs = this.#monotonicMs() + backoffMs(failures, PAUSE);
        endpoint.failures += 1;
      }
      throw error;
    } finally {
      if (failures > 0) endpoint.probes -= 1;
    }
  }

  async #ask<T>({ rpc }: Endpoint, send: Send<T>, late: AbortSignal): Promise<T> {
    // In one go: a signal that is made of one that was made of others is never given back.
    const signal = AbortSignal.any([AbortSignal.timeout(CALL_TIMEOUT_MS), this.#closed.signal, late]);
    try {
      return await send(rpc, signal);
    } catch (error) {
      // The endpoint may have closed a connection just as it was used again; every call can be made
      // twice.
      if (!isCutOff(error) || signal.aborted) throw error;
      return await send(rpc, signal);
    }
  }

  /**
   * The first, as configured, of those that are not paused; else the one that has waited longest.
   * After its pause an endpoint is not asked twice at a time while there are others.
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

/** Whether a node of the ledger refused what was asked; no fault of its endpoint. */
export function isAnswer(error: unknown): error is SolanaError {
  return isSolanaError(error) && ANSWERS.has(error.context.__code);
}

function isCutOff(error: unknown): boolean {
  const code = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined)?.code : undefined;
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
}
