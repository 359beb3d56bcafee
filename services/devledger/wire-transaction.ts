/**
 * Strict reading of transaction bytes. LiteSVM aborts the process on bytes that it cannot decode,
 * so nothing reaches it that was not decoded here, encoded again to the same bytes, and checked by
 * the rules of Solana's own sanitizer.
 */
import { createPublicKey, verify } from 'node:crypto';
import {
  getAddressEncoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Transaction,
} from '@solana/web3.js';
import { invalidParams } from './rpc-error.ts';

/** The largest transaction that Solana's network carries. */
export const TRANSACTION_MAX_BYTES = 1232;

type Message = ReturnType<ReturnType<typeof getCompiledTransactionMessageDecoder>['decode']>;

export interface WireTransaction {
  bytes: Buffer;
  transaction: Transaction;
  version: 'legacy' | 0;
  /** Base58; of the fee payer. */
  signature: string;
  blockhash: string;
  addresses: string[];
  /** Addresses that the transaction may write. */
  writable: string[];
  message: Message;
}

const base58 = getBase58Decoder();
const addressEncoder = getAddressEncoder();
const SPKI_ED25519 = Buffer.from('302a300506032b6570032100', 'hex');

const same = (left: ArrayLike<number>, right: Uint8Array): boolean => Buffer.from(left).equals(right);

function readMessage(messageBytes: Uint8Array): Message {
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (!same(getCompiledTransactionMessageEncoder().encode(message), messageBytes)) {
    throw invalidParams('the message is not in canonical encoding');
  }
  return message;
}

function sanitize(message: Message): void {
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = message.header;
  const count = message.staticAccounts.length;
  if (message.version !== 'legacy' && message.version !== 0) throw invalidParams('unsupported transaction version');
  if ('addressTableLookups' in message && message.addressTableLookups && message.addressTableLookups.length > 0) {
    throw invalidParams('address lookup tables are not supported by the embedded ledger');
  }
  if (
    numSignerAccounts < 1 ||
    numReadonlySignerAccounts >= numSignerAccounts ||
    numSignerAccounts + numReadonlyNonSignerAccounts > count ||
    new Set(message.staticAccounts).size !== count ||
    count > 64
  ) {
    throw invalidParams('invalid transaction: the message header or its accounts are not sound');
  }
  for (const { programAddressIndex, accountIndices } of message.instructions) {
    if (programAddressIndex < 1 || programAddressIndex >= count || accountIndices?.some((index) => index >= count)) {
      throw invalidParams('invalid transaction: an instruction names an account that is not there');
    }
  }
}

/** Reads a message alone, for its fee. Throws RpcError. */
export function readMessageStrictly(bytes: Buffer): Message {
  try {
    const message = readMessage(bytes);
    sanitize(message);
    return message;
  } catch (error) {
    throw asInvalidParams(error);
  }
}

/** Reads a whole transaction. Throws RpcError. */
export function readTransaction(bytes: Buffer): WireTransaction {
  if (bytes.length > TRANSACTION_MAX_BYTES) {
    throw invalidParams(`the transaction has ${bytes.length} bytes, more than ${TRANSACTION_MAX_BYTES}`);
  }
  try {
    const transaction = getTransactionDecoder().decode(bytes);
    if (!same(getTransactionEncoder().encode(transaction), bytes)) throw invalidParams('not in canonical encoding');
    const message = readMessage(transaction.messageBytes as unknown as Uint8Array);
    sanitize(message);
    const { header, staticAccounts } = message;
    const signatures = Object.values(transaction.signatures);
    if (signatures.length !== header.numSignerAccounts) throw invalidParams('wrong number of signatures');
    const writable = staticAccounts.filter((_, index) =>
      index < header.numSignerAccounts
        ? index < header.numSignerAccounts - header.numReadonlySignerAccounts
        : index < staticAccounts.length - header.numReadonlyNonSignerAccounts,
    );
    return {
      bytes,
      transaction,
      version: message.version as 'legacy' | 0,
      signature: base58.decode(signatures[0] ?? new Uint8Array(64)),
      blockhash: message.lifetimeToken,
      addresses: [...staticAccounts],
      writable: [...writable],
      message,
    };
  } catch (error) {
    throw asInvalidParams(error);
  }
}

/** Whether every signer's signature is there and right. */
export function signaturesHold({ transaction, addresses }: WireTransaction): boolean {
  return Object.values(transaction.signatures).every((signature, index) => {
    if (signature === null) return false;
    try {
      const publicKey = Buffer.concat([SPKI_ED25519, Buffer.from(addressEncoder.encode(addresses[index] as never))]);
      const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
      return verify(null, transaction.messageBytes as unknown as Uint8Array, key, signature);
    } catch {
      return false;
    }
  });
}

function asInvalidParams(error: unknown): Error {
  if (error instanceof Error && error.name === 'RpcError') return error;
  return invalidParams('failed to deserialize the transaction');
}
