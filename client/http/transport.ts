/**
 * Sends the operations of `/api/v1` to a service. Retries transient failures (`retry.ts`); each
 * attempt has a timeout of its own.
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
import { Retries, TIMER_MAX_MS, waitUnlessAborted } from './retry.ts';
import { assertAnswer } from './shape.ts';
import { defaultTimeoutMs } from './timeouts.ts';
import { consoleWarnings, warningsIn } from './warnings.ts';

export type OperationId = keyof Operations;

/** Path parameters, query and body of an operation. */
export type CallArguments<K extends OperationId> = Omit<Operations[K], 'result'>;

/** A body that is sent unchanged. */
export interface RawBody {
  body: NonNullable<RequestInit['body']>;
  contentType: string;
  /** Whether it can be sent again; false for a stream. */
  isRepeatable: boolean;
}

/** An answer that streams. */
export interface StreamingAnswer {
  readonly body: ReadableStream<Uint8Array>;
  /** The caller's signal. */
  readonly signal: AbortSignal | undefined;
  /** Releases the attempt. Must be called when the body has been read or is abandoned. */
  end(): void;
}

interface RequestParts {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: object;
  raw?: RawBody;
}

const ANSWER_MAX_BYTES = 256 * 1024 * 1024;
const ERROR_MAX_BYTES = 1024 * 1024;
const JSON_TYPE = 'application/json';
/** Path segments that URLs resolve even if escaped, so they would address something else. */
const UNSAFE_SEGMENTS = ['', '.', '..'];

export class Transport {
  readonly #base: string;
  readonly #key: string;
  readonly #options: Required<Omit<ConnectOptions, 'url' | 'timeoutMs'>> & Pick<ClientOptions, 'timeoutMs'>;

  /** `keyName`: option that holds the key. Throws a TypeError that names an invalid option. */
  constructor(options: ConnectOptions, keyName: 'apiKey' | 'adminToken' = 'apiKey') {
    assertOptions(options);
    this.#base = baseOf(options);
    this.#key = keyIn(options, keyName);
    const { fetch = globalThis.fetch, timeoutMs } = options;
    const { retryForMs = 60_000, maxRetries = Number.POSITIVE_INFINITY, maxRetryAfterMs = 30_000 } = options;
    const { maxAnswerBytes = ANSWER_MAX_BYTES, compress = false, onWarning = consoleWarnings() } = options;
    // Browsers allow `fetch` to be called only on the window, not as a method of this object.
    const ownFetch: typeof fetch = (...args) => fetch(...args);
    const retries = { retryForMs, maxRetries, maxRetryAfterMs };
    this.#options = { fetch: ownFetch, timeoutMs, ...retries, maxAnswerBytes, compress, onWarning };
  }

  /** Returns the answer. Rejects with a ProvecError, or with the signal's reason. */
  async send<K extends OperationId>(
    operation: K,
    call: CallArguments<K>,
    options: RequestOptions = {},
    raw?: RawBody,
  ): Promise<Operations[K]['result']> {
    const parts: RequestParts = { ...(call as RequestParts), ...(raw && { raw }) };
    const result = await this.#withRetries(operation, parts, options, async (response, attempt) => {
      const answer = await answerOf(operation, response, this.#options.maxAnswerBytes, attempt.signal);
      attempt.end();
      return answer;
    });
    const { onWarning = this.#options.onWarning } = options;
    for (const warning of warningsIn(operation, result)) onWarning(warning, operation);
    return result;
  }

  /** Returns options with which `change` rewrites each warning of a call. */
  withChangedWarnings(options: RequestOptions, change: (warning: string) => string): RequestOptions {
    assertOptions(options);
    const { onWarning = this.#options.onWarning } = options;
    return { ...options, onWarning: (warning, operation) => onWarning(change(warning), operation) };
  }

  /** Returns an answer of the media type `type` that has begun. Rejects like `send`. */
  open<K extends OperationId>(
    operation: K,
    call: CallArguments<K>,
    type: string,
    options: RequestOptions = {},
  ): Promise<StreamingAnswer> {
    return this.#withRetries(operation, call as RequestParts, options, async (response, attempt) => {
      const { body, headers, status } = response;
      const given = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
      if (body === null || given !== type) {
        const error = `This is not an answer to ${operation}, which has the type ${type}. Is this the address of a Provec?`;
        throw new ServerError({ error, status });
      }
      attempt.stopTimeout();
      return { body, signal: options.signal, end: () => attempt.end() };
    });
  }

  async #withRetries<T>(
    operation: OperationId,
    parts: RequestParts,
    options: RequestOptions,
    read: (response: Response, attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    assertOptions(options);
    const [url, init] = this.#request(operation, parts);
    const { signal, timeoutMs, retryForMs = this.#options.retryForMs, maxRetries = this.#options.maxRetries } = options;
    const limitMs = timeoutMs ?? this.#options.timeoutMs ?? defaultTimeoutMs(operation);
    const { maxRetryAfterMs } = this.#options;
    const isRepeatable = parts.raw?.isRepeatable !== false;
    const retries = new Retries(operation, isRepeatable, { retryForMs, maxRetries, maxRetryAfterMs });
    for (;;) {
      signal?.throwIfAborted();
      try {
        return await this.#attempt(url, init, signal, limitMs, read);
      } catch (error) {
        signal?.throwIfAborted();
        await waitUnlessAborted(retries.waitMs(error), signal);
      }
    }
  }

  #request(
    operation: OperationId,
    { path = {}, query = {}, body, raw }: RequestParts,
  ): [url: string, init: RequestInit] {
    const route = ROUTES[operation];
    const place = route.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name]));
    assertPlain(query, 'The query');
    const search = Object.entries(query)
      .map(([name, value]) => `${name}=${parameter(name, value)}`)
      .join('&');
    const sent = raw ?? (body === undefined ? null : { body: bodyText(body), contentType: JSON_TYPE });
    const headers = {
      authorization: `Bearer ${this.#key}`,
      // Without this header, Node would ask for compressed answers.
      'accept-encoding': this.#options.compress ? 'gzip' : 'identity',
      ...(sent && { 'content-type': sent.contentType }),
    };
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
      if (attempt.hasTimedOut) throw new APITimeoutError(`No answer within ${limitMs} ms.`, { cause: error });
      throw error instanceof ProvecError ? error : connectionError(error as Error);
    }
  }
}

/** Signal of one attempt. It aborts with the caller's signal and on a timeout. */
class Attempt {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #abort = () => this.#controller.abort(this.#caller?.reason);
  hasTimedOut = false;

  constructor(caller: AbortSignal | undefined, limitMs: number) {
    this.#caller = caller;
    caller?.addEventListener('abort', this.#abort, { once: true });
    if (limitMs > TIMER_MAX_MS) return;
    this.#timer = setTimeout(() => {
      this.hasTimedOut = true;
      this.#controller.abort();
    }, limitMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stops the timeout. */
  stopTimeout(): void {
    clearTimeout(this.#timer);
  }

  /** Stops the timeout and ignores the caller's signal from now on. */
  end(): void {
    this.stopTimeout();
    this.#caller?.removeEventListener('abort', this.#abort);
  }
}

function segment(name: string, value: string | undefined): string {
  if (typeof value !== 'string' || UNSAFE_SEGMENTS.includes(value))
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

/**
 * Collects the reasons from all causes: `fetch` itself reports only that it failed, and an
 * AggregateError has no message.
 */
function connectionError(cause: Error): APIConnectionError {
  const reasons: string[] = [];
  for (let error: (Error & { code?: string }) | undefined = cause; error; error = error.cause as Error | undefined)
    reasons.push((error.message || `${error.code}`).replace(/[.:]\s*$/, ''));
  return new APIConnectionError(`No answer came: ${reasons.join(': ')}`, { cause });
}
