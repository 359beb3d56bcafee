/**
 * Sends the operations of `/api/v1` to one service. In the ordinary course: one `fetch`, and its
 * JSON. Where that fails in passing, it tries again (`retry.ts`), each attempt with a time-out of
 * its own.
 */
import { type Operations, ROUTES } from '../api/generated.ts';
import { bodyText } from './body-text.ts';
import { ConnectionError, errorOf, ServerError } from './errors.ts';
import { mayRetry, retryWaitMs, waited } from './retry.ts';

export interface ClientOptions {
  /** Of the service, such as `http://127.0.0.1:8080`. */
  url: string;
  apiKey: string;
  /**
   * Of each attempt, in ms; 90,000 by default. Exports have it until the answer begins, imports not
   * at all.
   */
  timeoutMs?: number;
  /** After the first attempt; 4 by default. */
  maxRetries?: number;
  /** The longest wait before a retry that the service may ask for, in ms; 30,000 by default. */
  maxRetryAfterMs?: number;
  /** In place of the global one. */
  fetch?: typeof globalThis.fetch;
}

export interface RequestOptions {
  /** Ends the request, its retries and waits; the call rejects with the signal's reason. */
  signal?: AbortSignal;
  timeoutMs?: number;
  maxRetries?: number;
}

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

interface Parts {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: object;
  raw?: RawBody;
}

const BASE = '/api/v1';
const JSON_TYPE = 'application/json';
const KEY = /^[\x21-\x7e]+$/;
/** Every URL resolves them, however they are escaped, and names something else then. */
const UNNAMEABLE = ['', '.', '..'];

export class Transport {
  readonly #base: string;
  readonly #key: string;
  readonly #options: Required<Omit<ClientOptions, 'url' | 'apiKey'>>;

  /** Throws TypeError for a URL that is none, and without a key. */
  constructor({ url, apiKey, ...options }: ClientOptions) {
    this.#base = baseOf(url);
    // Said here: fetch would say it with the key.
    if (typeof apiKey !== 'string' || !KEY.test(apiKey)) throw new TypeError('apiKey must be an API key of Provec');
    this.#key = apiKey;
    const { fetch = globalThis.fetch, timeoutMs = 90_000, maxRetries = 4, maxRetryAfterMs = 30_000 } = options;
    // In browsers it must be called on nothing but the window.
    this.#options = { fetch: (...args) => fetch(...args), timeoutMs, maxRetries, maxRetryAfterMs };
  }

  /** The answer of an operation. Rejects with a ProvecError or a ConnectionError. */
  send<K extends OperationId>(
    operation: K,
    call: Call<K>,
    options: RequestOptions = {},
    raw?: RawBody,
  ): Promise<Operations[K]['result']> {
    const parts: Parts = { ...(call as Parts), ...(raw && { raw }) };
    return this.#withRetries(operation, parts, options, jsonOf<Operations[K]['result']>);
  }

  /** The body of an answer that has begun; as `send` rejects. */
  open<K extends OperationId>(
    operation: K,
    call: Call<K>,
    options: RequestOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return this.#withRetries(operation, call as Parts, options, async (response) => response.body!);
  }

  async #withRetries<T>(
    operation: OperationId,
    parts: Parts,
    { signal, timeoutMs = this.#options.timeoutMs, maxRetries = this.#options.maxRetries }: RequestOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const [url, init] = this.#request(operation, parts);
    for (let retry = 0; ; retry++) {
      try {
        return await this.#attempt(url, init, signal, timeoutMs, read);
      } catch (error) {
        signal?.throwIfAborted();
        const isSpent = retry >= maxRetries || parts.raw?.isRepeatable === false || !mayRetry(operation, error);
        const wait = isSpent ? null : retryWaitMs(retry, error, this.#options.maxRetryAfterMs);
        if (wait === null) throw error;
        await waited(wait, signal);
      }
    }
  }

  #request(operation: OperationId, { path = {}, query = {}, body, raw }: Parts): [url: string, init: RequestInit] {
    const route = ROUTES[operation];
    const place = route.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name]));
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&');
    const sent = raw ?? (body === undefined ? null : { body: bodyText(body), contentType: JSON_TYPE });
    const headers = { authorization: `Bearer ${this.#key}`, ...(sent && { 'content-type': sent.contentType }) };
    const init = { method: route.method, headers, body: sent?.body, redirect: 'manual', duplex: 'half' };
    return [`${this.#base}${place}${search && '?'}${search}`, init as RequestInit];
  }

  async #attempt<T>(
    url: string,
    init: RequestInit,
    signal: AbortSignal | undefined,
    timeoutMs: number,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const late = new AbortController();
    const timer = timeoutMs > 0 ? setTimeout(() => late.abort(), timeoutMs) : undefined;
    try {
      const signals = [late.signal, ...(signal ? [signal] : [])];
      const response = await this.#options.fetch(url, { ...init, signal: AbortSignal.any(signals) });
      if (!response.ok) throw errorOf(response, await response.text());
      return await read(response);
    } catch (error) {
      if (late.signal.aborted) throw new ConnectionError(`No answer within ${timeoutMs} ms.`, { cause: error });
      // What fetch rejects with where no answer comes; it may be of another realm.
      throw (error as Error).name === 'TypeError' ? connectionError(error as Error) : error;
    } finally {
      clearTimeout(timer);
    }
  }
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain = parsed !== null && /^https?:$/.test(parsed.protocol) && `${parsed.username}${parsed.search}` === '';
  if (!isPlain) throw new TypeError('url must be the http or https address of a Provec, without a user name');
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}${BASE}`;
}

function segment(name: string, value: string | undefined): string {
  if (typeof value !== 'string' || UNNAMEABLE.includes(value))
    throw new TypeError(`${name} cannot be ${JSON.stringify(value)} in a path`);
  return encodeURIComponent(value);
}

async function jsonOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    const { status } = response;
    throw new ServerError({ error: 'The answer is no JSON: is the address that of a Provec?', status }, { cause });
  }
}

/** `fetch` says only that it failed; why is in the causes, and an AggregateError has no message. */
function connectionError(cause: Error): ConnectionError {
  const reasons: string[] = [];
  for (let error: (Error & { code?: string }) | undefined = cause; error; error = error.cause as Error | undefined)
    reasons.push(error.message || `${error.code}`);
  return new ConnectionError(`No answer came: ${reasons.join(': ')}`, { cause });
}
