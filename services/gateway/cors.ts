import type { RequestContext } from './request-context.ts';

/** Request headers of all dialects, since a preflight does not show which one it is for. */
const ALLOWED_HEADERS =
  'Authorization, Content-Type, X-Request-Id, Api-Key, X-Pinecone-Api-Version, MCP-Protocol-Version, Mcp-Method, Mcp-Name';
const EXPOSED_HEADERS = 'X-Request-Id, Retry-After, Location';
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/**
 * Sets the CORS headers for browsers of the configured origins. Sets none if no origin is
 * configured. `methods` are those of the path, for preflights.
 */
export function applyCors(
  origins: readonly string[],
  { req, res }: RequestContext,
  methods: readonly string[] | null,
): void {
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
