/**
 * The keys derived from an installation's secret, one for each purpose, by HKDF-SHA256 (RFC 5869).
 * A key reveals nothing about the other keys or about the secret.
 */
import { hkdfSync } from 'node:crypto';

/**
 * 32-byte keys of one purpose. The first one seals new data; existing data may be sealed with any
 * of them.
 */
export type Keyring = readonly [Uint8Array, ...Uint8Array[]];

/** Secrets of an installation: the current one, then earlier ones that are still accepted. */
export type Secrets = readonly [string, ...string[]];

const KEY_BYTES = 32;

/** Keys of the store's seals. */
export interface StoreKeys {
  /** Shows whether the store was made under this secret. */
  installation: Keyring;
  /** Log entries and heads. */
  log: Keyring;
  /** Collections and accounts. */
  catalog: Keyring;
  apiKeys: Keyring;
  checkpoints: Keyring;
  audit: Keyring;
}

export function storeKeys(secrets: Secrets): StoreKeys {
  return {
    installation: keyring(secrets, 'installation'),
    log: keyring(secrets, 'log'),
    catalog: keyring(secrets, 'catalog'),
    apiKeys: keyring(secrets, 'API keys'),
    checkpoints: keyring(secrets, 'checkpoints'),
    audit: keyring(secrets, 'audit'),
  };
}

/** Returns the keys that seal packets between nodes. */
export const transportKeys = (secrets: Secrets): Keyring => keyring(secrets, 'transport');

function keyring([current, ...earlier]: Secrets, purpose: string): Keyring {
  const key = (secret: string) => new Uint8Array(hkdfSync('sha256', secret, '', `PV1 ${purpose}`, KEY_BYTES));
  return [key(current), ...earlier.map(key)];
}
