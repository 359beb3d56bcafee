import { hash } from 'node:crypto';

export const HASH_BYTES = 32;

/** Writes the SHA-256 of `input` into `target` at `offset`. */
export function sha256Into(target: Buffer, offset: number, input: Uint8Array): void {
  // A string of bytes costs a fraction of the Buffer that node:crypto would otherwise allocate per
  // digest.
  target.write(hash('sha256', input, 'binary'), offset, HASH_BYTES, 'latin1');
}

/**
 * The SHA-256 of `input` in memory of its own, so that it can be transferred or kept without a pool
 * behind it.
 */
export function sha256(input: Uint8Array): Buffer {
  const digest = Buffer.alloc(HASH_BYTES);
  sha256Into(digest, 0, input);
  return digest;
}
