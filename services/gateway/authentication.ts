import { createHash, timingSafeEqual } from 'node:crypto';
import { type Caller, call } from '../../lib/actions/call.ts';
import type { Identity } from '../../lib/actions/keys.ts';
import { ProvecError, unauthenticated } from '../../lib/errors.ts';
import type { Scope } from '../../lib/store/keys.ts';

const BEARER = /^Bearer +([\x21-\x7e]{1,512}) *$/i;

/**
 * Who sent the request. Throws UNAUTHENTICATED, or whatever kept the keys service from answering.
 */
export async function authenticate(caller: Caller, authorization: string | undefined): Promise<Identity> {
  const secret = BEARER.exec(authorization ?? '')?.[1];
  if (secret === undefined) throw unauthenticated();
  try {
    return await call(caller, 'keys.authenticate', { secret });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'UNAUTHENTICATED') throw unauthenticated();
    throw error;
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Lets only the operator's token pass; compared in constant time. Throws UNAUTHENTICATED. */
export function authenticateOperator(token: string, authorization: string | undefined): void {
  const given = BEARER.exec(authorization ?? '')?.[1];
  if (given === undefined || !timingSafeEqual(digest(given), digest(token))) throw unauthenticated();
}

/** Throws FORBIDDEN when the key lacks the scope. */
export function requireScope(identity: Identity, scope: Scope): void {
  if (identity.scopes.includes(scope)) return;
  throw new ProvecError('FORBIDDEN', `This API key lacks the scope "${scope}"; use a key that has it.`);
}
