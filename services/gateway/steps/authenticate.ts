import { createHash, timingSafeEqual } from 'node:crypto';
import { call } from '../../../lib/actions/call.ts';
import { isProvecError, ProvecError, unauthenticated } from '../../../lib/errors.ts';
import type { Scope } from '../../../lib/store/keys.ts';
import type { Exchange } from '../exchange.ts';
import type { StepParts } from './step.ts';

/**
 * Finds out whose request it is, for at most `arrivalsMax` requests at once: before that nobody can
 * say whose share a request would take. Throws UNAUTHENTICATED, UNAVAILABLE, or whatever kept the
 * keys service from answering.
 */
export async function authenticate(exchange: Exchange, parts: StepParts): Promise<void> {
  const { access, queue } = exchange.route;
  if (access === 'operator') return authenticateOperator(parts.config.adminToken, exchange);
  // Deletes make room, so they are let in however many others arrive.
  await parts.overload.arrive(queue !== 'unshared', () => identify(exchange, parts));
}

/** Asks whose key it is, and notes when. */
export async function identify(exchange: Exchange, { clock, config }: Pick<StepParts, 'clock' | 'config'>) {
  const askedMs = clock.monotonicMs();
  const secret = exchange.surface.secretOf(exchange.req, 'API key');
  try {
    exchange.identity = await call(exchange.caller, 'keys.authenticate', { secret });
    exchange.identifiedMs = askedMs;
  } catch (error) {
    if (!isProvecError(error) || error.code !== 'UNAUTHENTICATED') throw error;
    if (isOperators(secret, config.adminToken))
      throw unauthenticated("This is the operator's token, which opens /admin alone; send an API key.");
    throw unauthenticated();
  }
}

/**
 * Throws FORBIDDEN when the key lacks a scope that the request is known to need: the body, once it
 * is decoded, may ask for more than the route does.
 */
export function requireScopes(exchange: Exchange): void {
  const missing = scopesOf(exchange).find((scope) => !exchange.identity!.scopes.includes(scope));
  if (missing === undefined) return;
  const message =
    missing === exchange.route.access
      ? `This API key lacks the scope "${missing}"; use a key that has it.`
      : `A dry run also needs the scope "${missing}", which this API key lacks.`;
  throw new ProvecError('FORBIDDEN', message);
}

/** A dry run writes nothing, and tells what a read tells. */
function scopesOf({ input, route }: Exchange): readonly Scope[] {
  if (route.access === 'operator') return [];
  const isDryRun = (input?.body as { dryRun?: boolean } | null | undefined)?.dryRun === true;
  return isDryRun ? [route.access, 'read'] : [route.access];
}

/** Lets only the operator's token pass. */
function authenticateOperator(token: string | null, exchange: Exchange): void {
  if (token === null) throw new Error('an operator route without an operator');
  const given = exchange.surface.secretOf(exchange.req, "operator's token");
  if (isOperators(given, token)) return;
  throw unauthenticated("This is not the operator's token (PROVEC_ADMIN_TOKEN); an API key does not open /admin.");
}

/** Compared in constant time. */
const isOperators = (secret: string, token: string | null): boolean =>
  token !== null && timingSafeEqual(digest(secret), digest(token));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
