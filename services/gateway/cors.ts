import type { Exchange } from './exchange.ts';

/** Those of both surfaces: a preflight has no key to tell them apart by. */
const ALLOWED_HEADERS = 'Authorization, Content-Type, X-Request-Id, Api-Key, X-Pinecone-Api-Version';
const EXPOSED_HEADERS = 'X-Request-Id, Retry-After, Location';
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/**
 * Sets the headers by which browsers of the configured origins may read an answer; without origins
 * none is ever sent. `methods` (of the path) are told to a preflight.
 */
export function applyCors(origins: readonly string[], { req, res }: Exchange, methods: readonly string[] | null): void {
  if (origins.length === 0) return;
  const any = origins.includes('*');
  if (!any) res.setHeader('Vary', 'Origin');
  const { origin } = req.headers;
  if (origin === undefined || !(any || origins.includes(origin))) return;
  res.setHeader('Access-Control-Allow-Origin', any ? '*' : origin);
  res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
  if (methods === null || req.headers['access-control-request-method'] === undefined) return;
  res.setHeader('Access-Control-Allow-Methods', methods.join(', '));
  res.setHeader('Access-Control-Allow-Headers', ALLOWED_HEADERS);
  res.setHeader('Access-Control-Max-Age', String(PREFLIGHT_MAX_AGE_SECONDS));
}
