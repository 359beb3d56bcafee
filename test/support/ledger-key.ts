import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { getBase58Decoder } from '@solana/web3.js';

/** What stands in front of the secret bytes in PKCS #8. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A key pair of the ledger. */
export class LedgerKey {
  /** Base58. */
  readonly address: string;
  readonly #key: KeyObject;

  /** Takes the 32 secret bytes, in hex. */
  constructor(secret: string) {
    const key = Buffer.concat([PKCS8_HEAD, Buffer.from(secret, 'hex')]);
    this.#key = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
    const { x } = createPublicKey(this.#key).export({ format: 'jwk' });
    this.address = getBase58Decoder().decode(Buffer.from(x!, 'base64url'));
  }

  sign(message: Uint8Array): Buffer {
    return sign(null, message, this.#key);
  }
}
