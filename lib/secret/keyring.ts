/**
 * The keys that follow from an installation's secret, one for each purpose, by HKDF-SHA256 (RFC
 * 5869): what one of them is used for says nothing about another, and none of them about the
 * secret.
 */
import { hkdfSync } from 'node:crypto';

/**
 * 32-byte keys of one purpose. The first seals what is written; what is read may fit any of them.
 */
export type Keyring = readonly [Uint8Array, ...Uint8Array[]];

/** Secrets of an installation: the current one, then those before it that are still accepted. */
export type Secrets = readonly [string, ...string[]];

const KEY_BYTES = 32;

/** What the store is sealed with. */
export interface StoreKeys {
  /** Tells the store's own secret from another. */
  installation: Keyring;
  /** Log entries and heads. */
  log: Keyring;
  /** Collections and accounts. */
  catalog: Keyring;
  apiKeys: Keyring;
  checkpoints: Keyring;
}

export function storeKeys(secrets: Secrets): StoreKeys {
  return {
    installation: keyring(secrets, 'installation'),
    log: keyring(secrets, 'log'),
    catalog: keyring(secrets, 'catalog'),
    apiKeys: keyring(secrets, 'API keys'),
    checkpoints: keyring(secrets, 'checkpoints'),
  };
}

/** What the packets between nodes are sealed with. */
export const transportKeys = (secrets: Secrets): Keyring => keyring(secrets, 'transport');

function keyring([current, ...earlier]: Secrets, purpose: string): Keyring {
  const key = (secret: string) => new Uint8Array(hkdfSync('sha256', secret, '', `PV1 ${purpose}`, KEY_BYTES));
  return [key(current), ...earlier.map(key)];
}
