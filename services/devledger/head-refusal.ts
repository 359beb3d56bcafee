import type { IncomingMessage } from 'node:http';

/** Host names of this machine that a foreign DNS server cannot point here. */
const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

export interface HeadRefusal {
  status: 403 | 405 | 415;
  message: string;
}

/**
 * Returns why the head of a request is refused, or null if it is not.
 *
 * Any web page can make a browser send requests to this machine: with a content type other than
 * JSON (which needs no preflight), with the page's origin, or to the page's own host name.
 * `readers` are the origins whose pages may use the ledger.
 */
export function originRefusal(
  { method, headers: { host = '', origin, 'content-type': type = '' } }: IncomingMessage,
  readers: readonly string[],
): HeadRefusal | null {
  if (!LOOPBACK_HOST.test(host))
    return { status: 403, message: 'The Host header must be localhost, 127.0.0.1 or [::1].' };
  if (origin !== undefined && !readers.includes(origin))
    return { status: 403, message: 'Web pages of this origin may not use the ledger; see PROVEC_CORS_ORIGINS.' };
  if (method === 'OPTIONS' && origin !== undefined) return null;
  if (method !== 'POST') return { status: 405, message: 'Use POST.' };
  return JSON_TYPE.test(type) ? null : { status: 415, message: 'The Content-Type must be application/json.' };
}
