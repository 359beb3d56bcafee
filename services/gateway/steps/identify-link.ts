import { call } from '../../../contracts/actions/call.ts';
import { clientAddressOf } from '../client-address.ts';
import type { RoutedRequest } from '../request-context.ts';
import type { StepParts } from './step.ts';

/** Keeps the address of the page, which has the token, from other sites and search engines. */
const HEADERS = { 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex' };

/**
 * Identifies the account that pays for a request with an audit link, whose token is in the path.
 * The address is limited first: a wrong token costs a look-up that no account pays for. Throws
 * RATE_LIMITED, AUDIT_LINK_NOT_FOUND or UNAVAILABLE.
 */
export async function authenticateLink(request: RoutedRequest, parts: StepParts): Promise<void> {
  for (const [name, value] of Object.entries(HEADERS)) request.res.setHeader(name, value);
  await parts.addressRateLimit(clientAddressOf(request.req, parts.config.trustedProxies));
  await parts.overload.arrive(true, () => identifyLink(request, parts));
}

/** Looks up the link, and stores the identity and the time. */
export async function identifyLink(request: RoutedRequest, { clock }: Pick<StepParts, 'clock'>): Promise<void> {
  const askedMs = clock.monotonicMs();
  const { id, ...owner } = await call(request.caller, 'collections.auditLinkHolder', { token: request.target });
  request.identity = { ...owner, keyId: id, scopes: [] };
  request.identifiedMs = askedMs;
}
