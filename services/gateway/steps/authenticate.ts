import { call } from '../../../contracts/actions/call.ts';
import { isProvecError, ProvecError, unauthenticated } from '../../../lib/errors.ts';
import { isOperatorToken } from '../../../lib/secret/operator-token.ts';
import type { Scope } from '../../../store/keys.ts';
import type { RoutedRequest } from '../request-context.ts';
import { authenticateLink } from './identify-link.ts';
import type { StepParts } from './step.ts';
import { isDryRun } from './wait-turn.ts';

/**
 * Identifies the account of a request, by its key or its audit link. At most `arrivalsMax`
 * requests do so at once, since they cannot be charged to an account yet. Throws UNAUTHENTICATED,
 * UNAVAILABLE, or the error of the keys service.
 */
export async function authenticate(request: RoutedRequest, parts: StepParts): Promise<void> {
  const { access, queue } = request.route;
  if (access === 'operator') return authenticateOperator(parts.config.adminToken, request);
  if (access === 'link') return authenticateLink(request, parts);
  // Delete requests free up space, so they are admitted regardless of the number of arrivals.
  await parts.overload.arrive(queue !== 'perAccount', () => identify(request, parts));
}

/** Looks up the key, and stores the identity and the time. */
export async function identify(request: RoutedRequest, { clock, config }: Pick<StepParts, 'clock' | 'config'>) {
  const askedMs = clock.monotonicMs();
  const secret = request.dialect.secretOf(request.req, 'API key');
  try {
    request.identity = await call(request.caller, 'keys.authenticate', { secret });
    request.identifiedMs = askedMs;
  } catch (error) {
    if (!isProvecError(error) || error.code !== 'UNAUTHENTICATED') throw error;
    if (isOperatorToken(secret, config.adminToken))
      throw unauthenticated("This is the operator's token, which is valid only for /admin; send an API key.");
    throw unauthenticated();
  }
}

/**
 * Throws FORBIDDEN if the key lacks a scope that the request needs. Called again after decoding,
 * since the body may need more than the route.
 */
export function requireScopes(request: RoutedRequest): void {
  const held = request.identity?.scopes ?? [];
  const missing = scopesOf(request).find((scope) => !held.includes(scope));
  if (missing === undefined) return;
  const message =
    missing === request.route.access
      ? `This API key lacks the scope "${missing}"; use a key that has it.`
      : `A dry run also needs the scope "${missing}", which this API key lacks.`;
  throw new ProvecError('FORBIDDEN', message);
}

/** A dry run writes nothing and reveals what a read reveals. */
function scopesOf(request: RoutedRequest): readonly Scope[] {
  const { access } = request.route;
  if (access === 'operator' || access === 'link') return [];
  return isDryRun(request) ? [access, 'read'] : [access];
}

function authenticateOperator(token: string | null, request: RoutedRequest): void {
  if (token === null) throw new Error('an operator route without an operator');
  const given = request.dialect.secretOf(request.req, "operator's token");
  if (isOperatorToken(given, token)) return;
  throw unauthenticated("This is not the operator's token (PROVEC_ADMIN_TOKEN); API keys are not valid for /admin.");
}
