import { hash, randomBytes } from 'node:crypto';

const ISSUED = /^pv_live_[A-Za-z0-9_-]{43}$/;
/** Secrets that the configuration accepts; issued ones match too. */
const POSSIBLE = /^[\x21-\x7e]{16,256}$/;

/** Returns an API key's secret: `pv_live_` and 32 bytes, by default random, in base64url. */
export function newSecret(bytes: Buffer = randomBytes(32)): string {
  return `pv_live_${bytes.toString('base64url')}`;
}

/** Whether a value has the form of a secret, issued or chosen by an operator. */
export function isPossibleSecret(value: unknown): value is string {
  return typeof value === 'string' && POSSIBLE.test(value);
}

/**
 * Returns a secret's SHA-256 (hex). The store looks up this hash, so that lookup times reveal
 * nothing about the secret.
 */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Returns the part that lists show: 12 characters of an issued secret, 4 of a chosen one. */
export function secretPrefix(secret: string): string {
  return secret.slice(0, ISSUED.test(secret) ? 12 : 4);
}
