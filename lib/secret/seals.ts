import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Keyring } from './keyring.ts';

const SEAL_DIGITS = 64;

/**
 * What a row says, in the order in which it is sealed; the first is the kind of row where one key
 * seals several.
 */
export type Said = readonly unknown[];

/**
 * Proves of what is stored that a holder of the key wrote it: HMAC-SHA-256 (RFC
 * 2104) over its JSON.
 */
export class Seals {
  readonly #keys: KeyObject[];

  constructor(keyring: Keyring) {
    this.#keys = keyring.map((key) => createSecretKey(key));
  }

  /** 32 bytes. */
  seal(said: Said): Buffer {
    return sealOf(this.#keys[0]!, JSON.stringify(said));
  }

  /** As `seal`, in 64 hex digits. */
  hex(said: Said): string {
    return this.seal(said).toString('hex');
  }

  /**
   * Whether `seal` is that of `said`, by the current key or one before it; false for whatever is no
   * seal at all.
   */
  fits(said: Said, seal: unknown): boolean {
    if (!(seal instanceof Uint8Array)) return false;
    const text = JSON.stringify(said);
    return this.#keys.some((key) => {
      const own = sealOf(key, text);
      return own.byteLength === seal.byteLength && timingSafeEqual(own, seal);
    });
  }

  /** As `fits`, of a seal in hex digits. */
  fitsHex(said: Said, seal: unknown): boolean {
    return typeof seal === 'string' && seal.length === SEAL_DIGITS && this.fits(said, Buffer.from(seal, 'hex'));
  }
}

function sealOf(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
