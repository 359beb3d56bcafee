/** The key with which this user signs manifests. It lies beside the profiles. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
  verify,
} from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { InputError } from '../../client/cli/json-file.ts';
import { assertOwnFile, assertOwnFolder, FILE_MODE, FOLDER_MODE, profilePath } from '../profile.ts';

const FILE = 'manifest-key.pem';
const TAG = Buffer.from('PM1\0');

/** Returns the path of the file with the key. */
const keyPath = (): string => join(dirname(profilePath()), FILE);

/** A key pair of Ed25519. */
export class SigningKey {
  readonly #key: KeyObject;
  /** The public key: 64 hex digits. */
  readonly signer: string;

  constructor(key: KeyObject) {
    this.#key = key;
    const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
    this.signer = Buffer.from(x, 'base64url').toString('hex');
  }

  /** Returns the signature of a manifest: 128 hex digits. `digest`: SHA-256 of what is signed. */
  signatureOf(digest: Uint8Array): string {
    return sign(null, Buffer.concat([TAG, digest]), this.#key).toString('hex');
  }
}

/** Returns this user's key. Creates it if there is none. */
export async function ownKey(): Promise<SigningKey> {
  const path = keyPath();
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  const found = await readKey(path);
  if (found !== null) return found;
  const { privateKey } = generateKeyPairSync('ed25519');
  const part = `${path}.${randomUUID().slice(0, 8)}.part`;
  try {
    await writeFile(part, privateKey.export({ format: 'pem', type: 'pkcs8' }), {
      flag: 'wx',
      mode: FILE_MODE,
      flush: true,
    });
    // Unlike a rename, this never replaces a key that another process made meanwhile.
    await link(part, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(part, { force: true });
  }
  return (await readKey(path))!;
}

/** Returns this user's public key; null if there is none. */
export const ownSigner = async (): Promise<string | null> => (await readKey(keyPath()))?.signer ?? null;

async function readKey(path: string): Promise<SigningKey | null> {
  let text: string;
  try {
    await assertOwnFolder(dirname(path));
    await assertOwnFile(path, 'a signing key');
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const key = createPrivateKey(text);
    if (key.asymmetricKeyType === 'ed25519') return new SigningKey(key);
  } catch {
    // Reported below. The parser's message could quote the key.
  }
  throw new InputError(`${path} is not an Ed25519 key. Restore it from a copy, or remove it to get a new one.`);
}

/** Whether `signature` is that of the signer for this digest. Both are lower-case hex digits. */
export function isSignedBy(signer: string, digest: Uint8Array, signature: string): boolean {
  const x = Buffer.from(signer, 'hex').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, Buffer.concat([TAG, digest]), key, Buffer.from(signature, 'hex'));
}
