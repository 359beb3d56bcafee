import { createHash, timingSafeEqual } from 'node:crypto';

const BEARER = /^Bearer +([\x21-\x7e]{1,512}) *$/i;

/** Compares in constant time. False if the service has no operator's token. */
export const isOperatorToken = (secret: string, token: string | null): boolean =>
  token !== null && timingSafeEqual(digest(secret), digest(token));

/** Returns whether an Authorization header holds the operator's token. */
export function isOperatorHeader(authorization: string | undefined, token: string | null): boolean {
  const secret = BEARER.exec(authorization ?? '')?.[1];
  return secret !== undefined && isOperatorToken(secret, token);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
