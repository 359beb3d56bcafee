/**
 * Sends the operations of `/api/v1` to one service. In the ordinary course: one `fetch`, and its
 * JSON. Where that fails in passing, it tries again (`retry.ts`), each attempt with a time-out of
 * its own.
 */
import { type Operations, ROUTES } from '../api/generated.ts';
import { boundedText } from '../verify/bounded-body.ts';
import { parseJson } from '../verify/json-text.ts';
import { bodyText } from './body-text.ts';
import { APIConnectionError, APITimeoutError, errorOf, ProvecError, ServerError } from './errors.ts';
import { assertJson, assertPlain } from './json-value.ts';
import {
  assertOptions,
  baseOf,
  type ClientOptions,
  type ConnectOptions,
  keyIn,
  type RequestOptions,
} from './options.ts';
import { Retries, TIMER_MAX_MS, waited } from './retry.ts';
import { assertAnswer } from './shape.ts';
import { consoleWarnings, warningsIn } from './warnings.ts';

export type OperationId = keyof Operations;

/** What a request of an operation has beside its route. */
export type Call<K extends OperationId> = {
  [P in 'path' | 'query' | 'body' as Operations[K][P] extends undefined ? never : P]: Operations[K][P];
};

/** A body that is sent as it is. */
export interface RawBody {
  body: NonNullable<RequestInit['body']>;
  contentType: string;
  /** Whether it can be sent again: a stream cannot. */
  isRepeatable: boolean;
}

/** An answer that streams. */
export interface OpenAnswer {
  readonly body: ReadableStream<Uint8Array>;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
  /** To be called when the body was read or is given up. */
  end(): void;
}

interface Parts {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: object;
  raw?: RawBody;
}

const TIMEOUT_MS = 90_000;
/** Where others than TIMEOUT_MS hold. Node's `fetch` waits 300,000 ms for an answer, at most. */
const TIMEOUTS_MS: { readonly [K in OperationId]?: number } = { verifyCollection: 280_000, importRecords: Infinity };
const ANSWER_MAX_BYTES = 256 * 1024 * 1024;
const ERROR_MAX_BYTES = 1024 * 1024;
const JSON_TYPE = 'application/json';
/** Every URL resolves them, however they are escaped, and names something else then. */
const UNNAMEABLE = ['', '.', '..'];

export class Transport {
  readonly #base: string;
  readonly #key: string;
  readonly #options: Required<Omit<ConnectOptions, 'url' | 'timeoutMs'>> & Pick<ClientOptions, 'timeoutMs'>;

  /** `keyName`: the option with the key. Throws a TypeError that names an invalid option. */
  constructor(options: ConnectOptions, keyName: 'apiKey' | 'adminToken' = 'apiKey') {
    assertOptions(options);
    this.#base = baseOf(options);
    this.#key = keyIn(options, keyName);
    const { fetch = globalThis.fetch, timeoutMs } = options;
    const { retryForMs = 60_000, maxRetries = Number.POSITIVE_INFINITY, maxRetryAfterMs = 30_000 } = options;
    const { maxAnswerBytes = ANSWER_MAX_BYTES, onWarning = consoleWarnings() } = options;
    // In browsers it must be called on nothing but the window.
    const ownFetch: typeof fetch = (...args) => fetch(...args);
    const retries = { retryForMs, maxRetries, maxRetryAfterMs };
    this.#options = { fetch: ownFetch, timeoutMs, ...retries, maxAnswerBytes, onWarning };
  }

  /** The answer of an operation. Rejects with a ProvecError, or the reason of the signal. */
  async send<K extends OperationId>(
    operation: K,
    call: Call<K>,
    options: RequestOptions = {},
    raw?: RawBody,
  ): Promise<Operations[K]['result']> {
    const parts: Parts = { ...(call as Parts), ...(raw && { raw }) };
    const result = await this.#withRetries(operation, parts, options, async (response, attempt) => {
      const answer = await answerOf(operation, response, this.#options.maxAnswerBytes, attempt.signal);
      attempt.end();
      return answer;
    });
    const { onWarning = this.#options.onWarning } = options;
    for (const warning of warningsIn(operation, result)) onWarning(warning, operation);
    return result;
  }

  /** The options of a call whose warnings `change` changes. */
  changingWarnings(options: RequestOptions, change: (warning: string) => string): RequestOptions {
    assertOptions(options);
    const { onWarning = this.#options.onWarning } = options;
    return { ...options, onWarning: (warning, operation) => onWarning(change(warning), operation) };
  }

  /** An answer that has begun; as `send` rejects. */
  open<K extends OperationId>(operation: K, call: Call<K>, options: RequestOptions = {}): Promise<OpenAnswer> {
    return this.#withRetries(operation, call as Parts, options, async (response, attempt) => {
      attempt.isAnswered();
      return { body: response.body!, signal: options.signal, end: () => attempt.end() };
    });
  }

  async #withRetries<T>(
    operation: OperationId,
    parts: Parts,
    options: RequestOptions,
    read: (response: Response, attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    assertOptions(options);
    const [url, init] = this.#request(operation, parts);
    const { signal, timeoutMs, retryForMs = this.#options.retryForMs, maxRetries = this.#options.maxRetries } = options;
    const limitMs = timeoutMs ?? this.#options.timeoutMs ?? TIMEOUTS_MS[operation] ?? TIMEOUT_MS;
    const { maxRetryAfterMs } = this.#options;
    const isRepeatable = parts.raw?.isRepeatable !== false;
    const retries = new Retries(operation, isRepeatable, { retryForMs, maxRetries, maxRetryAfterMs });
    for (;;) {
      signal?.throwIfAborted();
      try {
        return await this.#attempt(url, init, signal, limitMs, read);
      } catch (error) {
        signal?.throwIfAborted();
        await waited(retries.waitMs(error), signal);
      }
    }
  }

  #request(operation: OperationId, { path = {}, query = {}, body, raw }: Parts): [url: string, init: RequestInit] {
    const route = ROUTES[operation];
    const place = route.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name]));
    assertPlain(query, 'The query');
    const search = Object.entries(query)
      .map(([name, value]) => `${name}=${parameter(name, value)}`)
      .join('&');
    const sent = raw ?? (body === undefined ? null : { body: bodyText(body), contentType: JSON_TYPE });
    const headers = { authorization: `Bearer ${this.#key}`, ...(sent && { 'content-type': sent.contentType }) };
    const init = { method: route.method, headers, body: sent?.body, redirect: 'manual', duplex: 'half' };
    return [`${this.#base}${place}${search && '?'}${search}`, init as RequestInit];
  }

  async #attempt<T>(
    url: string,
    init: RequestInit,
    signal: AbortSignal | undefined,
    limitMs: number,
    read: (response: Response, attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const attempt = new Attempt(signal, limitMs);
    try {
      const response = await this.#options.fetch(url, { ...init, signal: attempt.signal });
      if (!response.ok) throw errorOf(response, await boundedText(response, ERROR_MAX_BYTES, attempt.signal));
      return await read(response, attempt);
    } catch (error) {
      attempt.end();
      if (attempt.isLate) throw new APITimeoutError(`No answer within ${limitMs} ms.`, { cause: error });
      throw error instanceof ProvecError ? error : connectionError(error as Error);
    }
  }
}

/** The signal of one attempt: it ends with the caller's, and when the time is up. */
class Attempt {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #abort = () => this.#controller.abort(this.#caller!.reason);
  isLate = false;

  constructor(caller: AbortSignal | undefined, limitMs: number) {
    this.#caller = caller;
    caller?.addEventListener('abort', this.#abort, { once: true });
    if (limitMs > TIMER_MAX_MS) return;
    this.#timer = setTimeout(() => {
      this.isLate = true;
      this.#controller.abort();
    }, limitMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time counts no more. */
  isAnswered(): void {
    clearTimeout(this.#timer);
  }

  /** The caller's signal counts no more, either. */
  end(): void {
    this.isAnswered();
    this.#caller?.removeEventListener('abort', this.#abort);
  }
}

function segment(name: string, value: string | undefined): string {
  if (typeof value !== 'string' || UNNAMEABLE.includes(value))
    throw new TypeError(`${name} cannot be ${JSON.stringify(value)} in a path`);
  return encodeURIComponent(value);
}

function parameter(name: string, value: unknown): string {
  assertJson(value, name);
  if (typeof value === 'object') throw new TypeError(`${name} must be text, a number or a boolean.`);
  return encodeURIComponent(String(value));
}

async function answerOf<K extends OperationId>(
  operation: K,
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Operations[K]['result']> {
  const { status } = response;
  const text = await boundedText(response, maxBytes, signal);
  if (text === null)
    throw new ServerError({
      error: `The answer has more than ${maxBytes} bytes, its maximum (maxAnswerBytes).`,
      status,
    });
  let answer: unknown;
  let cause: unknown;
  try {
    answer = parseJson(text);
  } catch (error) {
    cause = error;
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
    const error = 'The answer is not a JSON object: is this the address of a Provec?';
    throw new ServerError({ error, status }, { cause });
  }
  assertAnswer(operation, answer, status);
  return answer as Operations[K]['result'];
}

/** `fetch` says only that it failed; why is in the causes, and an AggregateError has no message. */
function connectionError(cause: Error): APIConnectionError {
  const reasons: string[] = [];
  for (let error: (Error & { code?: string }) | undefined = cause; error; error = error.cause as Error | undefined)
    reasons.push((error.message || `${error.code}`).replace(/[.:]\s*$/, ''));
  return new APIConnectionError(`No answer came: ${reasons.join(': ')}`, { cause });
}
