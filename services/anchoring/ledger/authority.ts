import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createKeyPairSignerFromBytes, type KeyPairSigner } from '@solana/web3.js';
import type { Logger } from 'pino';
import { ConfigError } from '../../../process/config.ts';

const KEYPAIR_BYTES = 64;

/**
 * Reads the keypair that owns every collection's account, from a file of 64 numbers as
 * solana-keygen writes it. With `mayCreate`, creates a missing file, readable only by its owner.
 * Throws ConfigError, which never contains the file's contents.
 */
export async function openAuthority(file: string, mayCreate: boolean, log: Logger): Promise<KeyPairSigner> {
  if (!existsSync(file)) {
    if (!mayCreate) {
      throw new ConfigError(
        `PROVEC_SOLANA_KEYPAIR must be the file of the keypair that anchors roots, but ${file} does not exist: set the path of the right file, or restore the file if it was removed.`,
      );
    }
    create(file);
  }
  if (process.platform !== 'win32' && (statSync(file).mode & 0o004) !== 0) {
    log.warn({ file }, 'The ledger keypair can be read by other users of this machine: chmod 600 it.');
  }
  try {
    const numbers: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const sound =
      Array.isArray(numbers) &&
      numbers.length === KEYPAIR_BYTES &&
      numbers.every((number) => Number.isInteger(number) && number >= 0 && number <= 255);
    if (sound) return await createKeyPairSignerFromBytes(Uint8Array.from(numbers as number[]));
  } catch {
    // Unreadable, not JSON or no keypair: the message below covers all of them.
  }
  throw new ConfigError(
    `PROVEC_SOLANA_KEYPAIR must be a file of ${KEYPAIR_BYTES} numbers that are a keypair: ${file}.`,
  );
}

function create(file: string): void {
  const { d: secret, x: address } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const bytes = Buffer.concat([secret, address].map((part = '') => Buffer.from(part, 'base64url')));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify([...bytes])}\n`, { flag: 'wx', mode: 0o600, flush: true });
  chmodSync(file, 0o600);
}
