import { hash } from 'node:crypto';

export const HASH_BYTES = 32;

/** Writes the SHA-256 of `input` into `target` at `offset`. */
export function sha256Into(target: Buffer, offset: number, input: Uint8Array): void {
  // A binary string is much cheaper than the Buffer that node:crypto would allocate per digest.
  target.write(hash('sha256', input, 'binary'), offset, HASH_BYTES, 'latin1');
}

/** Returns a digest in its own memory, which can be transferred and retains no pool. */
export function sha256(input: Uint8Array): Buffer {
  const digest = Buffer.alloc(HASH_BYTES);
  sha256Into(digest, 0, input);
  return digest;
}
