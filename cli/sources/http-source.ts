import { InputError } from '../../client/cli/json-file.ts';
import { retryWaitMs, waitUnlessAborted } from '../../client/http/retry.ts';
import { boundedText } from '../../client/verify/bounded-body.ts';
import { commandSignal } from '../interruption.ts';
import { parseSourceJson } from './json-answer.ts';
import { SourceError } from './source-error.ts';

/** Time in ms for one answer. */
const ANSWER_MS = 60_000;
/** Attempts in all. Their waits add up to about half a minute. */
const ATTEMPTS = 7;
/** Maximum size of an answer in bytes: more than any page. */
const ANSWER_MAX_BYTES = 256 * 1024 * 1024;
/** Number of characters shown of an error's answer. */
const SHOWN_CHARS = 300;
const TRANSIENT_STATUSES = [408, 425, 429, 500, 502, 503, 504];
/** Longest wait, in seconds, that a source may ask for. */
const ASKED_MAX_SECONDS = 60;

/**
 * Sends requests to a source over HTTP. Retries after transient failures, because requests only
 * read.
 */
export class HttpSource {
  /** The address, without a key. */
  readonly address: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** `headers` may hold a key, which errors never show. Throws an InputError for a bad address. */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    const parsed = URL.canParse(url) ? new URL(url) : null;
    if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.search !== '')
      throw new InputError('--from must be an http or https address.');
    if (parsed.username !== '' || parsed.password !== '')
      throw new InputError('--from must not hold a password; --help says where the key goes.');
    this.address = `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}`;
    this.#headers = headers;
  }

  /** Rejects with a SourceError. */
  get(path: string): Promise<unknown> {
    return this.#ask(path, { method: 'GET', headers: this.#headers });
  }

  /** Rejects with a SourceError. */
  post(path: string, body: object): Promise<unknown> {
    const headers = { 'content-type': 'application/json', ...this.#headers };
    return this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  async #ask(path: string, init: RequestInit): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(path, init);
      } catch (error) {
        commandSignal.throwIfAborted();
        const { status, askedSeconds } = error as TransientError;
        if (!(error instanceof TransientError)) throw error;
        if (attempt === ATTEMPTS || askedSeconds > ASKED_MAX_SECONDS)
          throw new SourceError(`${error.message} It was asked ${attempt} times.`, status);
        await waitUnlessAborted(retryWaitMs(attempt - 1, askedSeconds * 1_000), commandSignal);
      }
    }
  }

  async #attempt(path: string, init: RequestInit): Promise<unknown> {
    const signal = AbortSignal.any([commandSignal, AbortSignal.timeout(ANSWER_MS)]);
    let response: Response;
    let text: string | null;
    try {
      // A redirect would send the key to another address.
      response = await fetch(`${this.address}${path}`, { ...init, redirect: 'error', signal });
      text = await boundedText(response, ANSWER_MAX_BYTES, signal);
    } catch (error) {
      throw new TransientError(`${this.address} does not answer: ${reasonOf(error as Error)}.`, null);
    }
    const { status } = response;
    if (text === null)
      throw new SourceError(`${this.address} gave an answer of over ${ANSWER_MAX_BYTES} bytes: lower --page.`, status);
    if (!response.ok) {
      const why = text === '' ? '.' : `: ${text.slice(0, SHOWN_CHARS)}`;
      const message = `${this.address} answered ${path} with status ${status}${why}`;
      if (!TRANSIENT_STATUSES.includes(status)) throw new SourceError(message, status);
      throw new TransientError(message, status, Number(response.headers.get('retry-after') ?? 0) || 0);
    }
    try {
      return parseSourceJson(text);
    } catch {
      // The parser's message would quote vectors.
      throw new SourceError(`${this.address} answered ${path} with something other than JSON.`, status);
    }
  }
}

/** The same request may succeed later. */
class TransientError extends SourceError {
  readonly askedSeconds: number;

  constructor(message: string, status: number | null, askedSeconds = 0) {
    super(message, status);
    this.askedSeconds = askedSeconds;
  }
}

/** Returns the innermost reason: `fetch` itself reports only that it failed. */
function reasonOf(error: Error & { code?: string }): string {
  const cause = error.cause as Error | undefined;
  if (cause !== undefined) return reasonOf(cause);
  return error.name === 'TimeoutError' ? `not within ${ANSWER_MS / 1_000} s` : error.message || `${error.code}`;
}

/** Returns a member of an answer as an object. Throws a SourceError if it is none. */
export function objectIn(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new SourceError(`The source's answer has no ${what}.`);
}

/** Returns a member of an answer as a list. Throws a SourceError if it is none. */
export function listIn(value: unknown, what: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw new SourceError(`The source's answer has no list of ${what}.`);
}
