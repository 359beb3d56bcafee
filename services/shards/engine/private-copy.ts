import { createHash, randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import type { Steps } from '../steps.ts';

const STEP_BYTES = 1024 * 1024;

/**
 * Copies `file`, verifies that the copy has `sha256` (hex), then calls `read` with its path. The
 * copy is unlinked before it is written, so no one can replace it between the check and the read.
 * Throws an Error if the hash differs.
 */
export function* withPrivateCopy(file: string, sha256: string, read: (copy: string) => void): Steps<void> {
  const name = `${file}.${randomUUID()}`;
  const copy = openSync(name, 'wx+', 0o600);
  try {
    unlinkSync(name);
    if ((yield* copyInto(copy, file)) !== sha256) throw new Error('The graph file is not the one that was written.');
    read(`/dev/fd/${copy}`);
  } finally {
    closeSync(copy);
  }
}

/** Returns the SHA-256 of the copied bytes, in hex. */
function* copyInto(copy: number, file: string): Steps<string> {
  const digest = createHash('sha256');
  const chunk = Buffer.allocUnsafeSlow(STEP_BYTES);
  const source = openSync(file, 'r');
  try {
    for (let at = 0; ; ) {
      const bytes = readSync(source, chunk, 0, chunk.length, at);
      if (bytes === 0) return digest.digest('hex');
      digest.update(chunk.subarray(0, bytes));
      for (let done = 0; done < bytes; ) done += writeSync(copy, chunk, done, bytes - done, at + done);
      at += bytes;
      yield 'sending';
    }
  } finally {
    closeSync(source);
  }
}
