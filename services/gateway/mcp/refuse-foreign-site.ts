/**
 * Refuses requests that a browser sends for a page that may not call the service, as MCP demands.
 * A page can point its own name at 127.0.0.1 and call a local service as its own site; its `Origin`
 * and `Host` then have that name.
 */
import { ProvecError } from '../../../lib/errors.ts';
import { isLoopback } from '../../../process/plain-http.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { StepParts } from '../steps/step.ts';

/** Throws FORBIDDEN for an `Origin` that is not allowed, or a `Host` that is no local service's. */
export function refuseForeignSite({ req }: RoutedRequest, { config }: StepParts): void {
  const { origin, host = '' } = req.headers;
  const { corsOrigins, host: listening, publicUrl } = config;
  const ownOrigin = publicUrl === null ? null : new URL(publicUrl).origin;
  if (origin !== undefined && origin !== ownOrigin && !corsOrigins.includes(origin) && !corsOrigins.includes('*'))
    throw new ProvecError(
      'FORBIDDEN',
      'Pages of this origin may not use /mcp; the operator can add it to PROVEC_CORS_ORIGINS.',
    );
  if (!isLoopback(listening)) return;
  const name = hostnameOf(host);
  const isOwn = ownOrigin !== null && new URL(ownOrigin).hostname === name;
  if (!isOwn && !isLoopback(name))
    throw new ProvecError(
      'FORBIDDEN',
      'The Host header names another machine; behind a proxy, the operator sets PROVEC_PUBLIC_URL.',
    );
}

function hostnameOf(host: string): string {
  const url = `http://${host}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : host;
}
