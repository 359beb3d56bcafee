import { createHash, timingSafeEqual } from 'node:crypto';
import { call } from '../../../lib/actions/call.ts';
import { ProvecError, unauthenticated } from '../../../lib/errors.ts';
import type { Exchange } from '../exchange.ts';
import type { StepParts } from './step.ts';

const BEARER = /^Bearer +([\x21-\x7e]{1,512}) *$/i;

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
export async function identify(exchange: Exchange, { clock }: Pick<StepParts, 'clock'>): Promise<void> {
  const askedMs = clock.monotonicMs();
  const secret = bearerOf(exchange);
  if (secret === undefined) throw unauthenticated();
  try {
    exchange.identity = await call(exchange.caller, 'keys.authenticate', { secret });
    exchange.identifiedMs = askedMs;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'UNAUTHENTICATED') throw unauthenticated();
    throw error;
  }
}

/** Throws FORBIDDEN when the key lacks the route's scope. */
export function requireScope({ identity, route }: Exchange): void {
  const { access } = route;
  if (access === 'operator' || identity!.scopes.includes(access)) return;
  throw new ProvecError('FORBIDDEN', `This API key lacks the scope "${access}"; use a key that has it.`);
}

/** Lets only the operator's token pass; compared in constant time. */
function authenticateOperator(token: string | null, exchange: Exchange): void {
  if (token === null) throw new Error('an operator route without an operator');
  const given = bearerOf(exchange);
  if (given === undefined || !timingSafeEqual(digest(given), digest(token))) throw unauthenticated();
}

const bearerOf = ({ req }: Exchange): string | undefined => BEARER.exec(req.headers.authorization ?? '')?.[1];
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
