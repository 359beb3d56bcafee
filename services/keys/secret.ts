import { hash, randomBytes } from 'node:crypto';

const ISSUED = /^pv_live_[A-Za-z0-9_-]{43}$/;
/** What the configuration accepts as a chosen secret; every issued one is of this form too. */
const POSSIBLE = /^[\x21-\x7e]{16,256}$/;

/** A new API key's secret: `pv_live_` and 256 random bits in base64url. */
export function newSecret(): string {
  return `pv_live_${randomBytes(32).toString('base64url')}`;
}

/**
 * Whether a value could be a key's secret at all: an issued one, or one that an operator chose for
 * the first account.
 */
export function isPossibleSecret(value: unknown): value is string {
  return typeof value === 'string' && POSSIBLE.test(value);
}

/**
 * SHA-256 (hex) of a secret: what the store keeps and looks up, so that the time of a look-up says
 * nothing of the secret.
 */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/**
 * The part of a secret that lists show: 12 characters of an issued one, 4 of a chosen one, which
 * may be short.
 */
export function secretPrefix(secret: string): string {
  return secret.slice(0, ISSUED.test(secret) ? 12 : 4);
}
