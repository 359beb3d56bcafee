import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { firstOf } from '../checked-access.ts';
import type { Keyring } from './keyring.ts';

const SEAL_DIGITS = 64;

/**
 * The fields that a seal covers, in order. The first is the kind of row if one key seals several
 * kinds.
 */
export type MacPayload = readonly unknown[];

/**
 * Seals, which prove that a holder of the key wrote a piece of data: HMAC-SHA-256 (RFC 2104) over
 * its JSON.
 */
export class Seals {
  readonly #keys: KeyObject[];

  constructor(keyring: Keyring) {
    this.#keys = keyring.map((key) => createSecretKey(key));
  }

  /** Returns the seal of the fields, made with the current key: 32 bytes. */
  seal(payload: MacPayload): Buffer {
    return sealOf(firstOf(this.#keys), JSON.stringify(payload));
  }

  /** Like `seal`, but as 64 hex digits. */
  sealHex(payload: MacPayload): string {
    return this.seal(payload).toString('hex');
  }

  /**
   * Returns whether `seal` is a seal of the fields under the current key or an earlier one; false
   * for anything else.
   */
  verify(payload: MacPayload, seal: unknown): boolean {
    if (!(seal instanceof Uint8Array)) return false;
    const text = JSON.stringify(payload);
    return this.#keys.some((key) => {
      const own = sealOf(key, text);
      return own.byteLength === seal.byteLength && timingSafeEqual(own, seal);
    });
  }

  /** Same as `verify`, for a seal in hex digits. */
  verifyHex(payload: MacPayload, seal: unknown): boolean {
    return typeof seal === 'string' && seal.length === SEAL_DIGITS && this.verify(payload, Buffer.from(seal, 'hex'));
  }
}

function sealOf(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
