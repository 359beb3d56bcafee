import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import {
  type Address,
  appendTransactionMessageInstruction,
  type Blockhash,
  compileTransaction,
  createNoopSigner,
  createTransactionMessage,
  getBase58Decoder,
  lamports,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/web3.js';
import { getTransferSolInstruction } from '@solana-program/system';

/** PKCS #8 prefix of a 32-byte Ed25519 key. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;

/**
 * Wallet that airdrops come from. Its key is derived from the genesis hash. It need not be secret,
 * since anyone may get an airdrop.
 */
export class Faucet {
  readonly address: string;
  readonly #key: KeyObject;

  constructor(genesisHash: string) {
    const seed = createHash('sha256').update(`provec embedded ledger faucet ${genesisHash}`).digest();
    this.#key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' });
    const publicKey = createPublicKey(this.#key).export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES);
    this.address = getBase58Decoder().decode(publicKey);
  }

  /** Returns a signed transaction that transfers `amount` lamports to a wallet. */
  transfer(to: string, amount: number, blockhash: string): Buffer {
    const source = createNoopSigner(this.address as Address);
    const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n };
    const message = pipe(
      createTransactionMessage({ version: 'legacy' }),
      (empty) => setTransactionMessageFeePayer(source.address, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
      (timed) =>
        appendTransactionMessageInstruction(
          getTransferSolInstruction({ source, destination: to as Address, amount: lamports(BigInt(amount)) }),
          timed,
        ),
    );
    const messageBytes = Buffer.from(compileTransaction(message).messageBytes as unknown as Uint8Array);
    return Buffer.concat([Buffer.of(1), sign(null, messageBytes, this.#key), messageBytes]);
  }
}
