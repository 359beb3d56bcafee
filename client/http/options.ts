import type { OnWarning } from './warnings.ts';

export interface ClientOptions {
  /** Address of the service, such as `http://127.0.0.1:8080`. */
  url: string;
  apiKey: string;
  /**
   * Timeout of each attempt in ms, `Infinity` for none. By default 90,000, for `verify`,
   * `moveShard` and `resumeAnchoring` 280,000, for `drainNode` 120,000, and for imports none. The
   * timeout of an export ends when its answer begins.
   */
  timeoutMs?: number;
  /** Time in ms from the first failure of a call to its last retry; 60,000 by default. */
  retryForMs?: number;
  /** Maximum number of retries of a call; no maximum by default. */
  maxRetries?: number;
  /** Longest wait before a retry, in ms, that the service may ask for; 30,000 by default. */
  maxRetryAfterMs?: number;
  /**
   * Maximum size of an answer in bytes, after decompression; 268,435,456 (256 MiB) by default. An
   * export may have any size, and lines of up to 4 MiB.
   */
  maxAnswerBytes?: number;
  /**
   * Whether the service should compress answers above 1 KB, which pays on slow networks. False by
   * default. Browsers decide for themselves.
   */
  compress?: boolean;
  /** Gets the warnings of all answers. By default, they go to the console, each once. */
  onWarning?: OnWarning;
  /** Replacement for the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

export interface RequestOptions extends Pick<ClientOptions, 'timeoutMs' | 'retryForMs' | 'maxRetries' | 'onWarning'> {
  /** Ends the request, its retries and waits; the call rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** Options of a client, without its key. */
export type ConnectOptions = Omit<ClientOptions, 'apiKey'>;

const BASE = '/api/v1';
const KEY = /^[\x21-\x7e]+$/;

type Rule = [isValid: (value: unknown) => boolean, expected: string];
const isFrom0 = (value: unknown): boolean => typeof value === 'number' && value >= 0;
const isAbove0 = (value: unknown): boolean => isFrom0(value) && value !== 0;
const isFunction = (value: unknown): boolean => typeof value === 'function';
const DURATION: Rule = [isFrom0, 'a number of milliseconds, 0 or more'];
const FUNCTION: Rule = [isFunction, 'a function'];
const RULES: Readonly<Record<Exclude<keyof (ClientOptions & RequestOptions), 'url' | 'apiKey'>, Rule>> = {
  timeoutMs: [isAbove0, 'a number of milliseconds above 0, Infinity for none'],
  retryForMs: DURATION,
  maxRetries: [
    (value) => isFrom0(value) && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY),
    'a whole number, 0 or more, or Infinity',
  ],
  maxRetryAfterMs: DURATION,
  maxAnswerBytes: [isAbove0, 'a number of bytes above 0'],
  compress: [(value) => typeof value === 'boolean', 'true or false'],
  onWarning: FUNCTION,
  fetch: FUNCTION,
  signal: [isSignal, 'an AbortSignal'],
};

/** Throws a TypeError that names the first invalid option. */
export function assertOptions(options: object): void {
  if (typeof options !== 'object' || options === null) throw new TypeError('The options must be an object.');
  for (const [name, [isValid, expected]] of Object.entries(RULES)) {
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined && !isValid(value))
      throw new TypeError(`${name} must be ${expected}. It is ${shown(value)}.`);
  }
}

/** Returns the API's address. Throws a TypeError that omits the URL, since it may hold a secret. */
export function baseOf({ url }: ConnectOptions): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isHttp = parsed !== null && /^https?:$/.test(parsed.protocol);
  const isPlain =
    isHttp && `${parsed.username}${parsed.password}${parsed.search}` === '' && !parsed.pathname.includes(BASE);
  if (!isPlain) {
    const expected = `an http or https address, such as http://127.0.0.1:8080, without user, query or ${BASE}`;
    throw new TypeError(`url must be the address of a Provec: ${expected}.`);
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}${BASE}`;
}

/** Returns the key. Throws a TypeError that omits it, unlike the errors of `fetch`. */
export function keyIn(options: object, name: 'apiKey' | 'adminToken'): string {
  const key: unknown = (options as Record<string, unknown>)[name];
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new TypeError(`${name} must be a key of Provec: printable ASCII without spaces.`);
}

function isSignal(value: unknown): boolean {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && 'aborted' in value && 'addEventListener' in value;
}

function shown(value: unknown): string {
  if (typeof value === 'number' || value === null) return String(value);
  return typeof value === 'string' ? JSON.stringify(value) : `of type ${typeof value}`;
}
