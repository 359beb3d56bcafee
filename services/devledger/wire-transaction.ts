/**
 * Strict decoder of transactions. LiteSVM aborts the process on bytes that it cannot decode, so it
 * only gets bytes that this file decodes and encodes to the same bytes again. LiteSVM itself checks
 * the instructions and the signatures.
 */

import {
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Transaction,
} from '@solana/web3.js';
import { firstOf } from '../../lib/checked-access.ts';
import { invalidParams, RpcError } from './rpc-error.ts';

type Message = ReturnType<ReturnType<typeof getCompiledTransactionMessageDecoder>['decode']>;

export interface WireTransaction {
  transaction: Transaction;
  /** Message of version `legacy` or 0. */
  message: Message & { version: 'legacy' | 0 };
  /** Base58, one per signer. */
  signatures: string[];
  /** Base64. */
  wire: string;
  /** Signature of the fee payer in base58; it identifies the transaction. */
  signature: string;
  blockhash: string;
  /** Addresses that the transaction may write. */
  writable: string[];
}

const base58 = getBase58Decoder();

const same = (left: ArrayLike<number>, right: Uint8Array): boolean => Buffer.from(left).equals(right);

function readMessage(messageBytes: Uint8Array): Message {
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (!same(getCompiledTransactionMessageEncoder().encode(message), messageBytes)) {
    throw invalidParams('the message is not in canonical encoding');
  }
  return message;
}

/** Decodes a transaction. Throws RpcError. */
export function readTransaction(bytes: Buffer): WireTransaction {
  try {
    const transaction = getTransactionDecoder().decode(bytes);
    if (!same(getTransactionEncoder().encode(transaction), bytes)) throw invalidParams('not in canonical encoding');
    const message = readMessage(transaction.messageBytes as unknown as Uint8Array);
    if (message.version !== 'legacy' && message.version !== 0) throw invalidParams('unsupported transaction version');
    // Accounts from lookup tables would be missing in `writable`.
    if ('addressTableLookups' in message && message.addressTableLookups && message.addressTableLookups.length > 0) {
      throw invalidParams('address lookup tables are not supported by the embedded ledger');
    }
    const { header, staticAccounts } = message;
    const signatures = Object.values(transaction.signatures);
    if (signatures.length !== header.numSignerAccounts) throw invalidParams('wrong number of signatures');
    if (signatures.includes(null)) throw invalidParams('a signature is missing');
    const writable = staticAccounts.filter((_, index) =>
      index < header.numSignerAccounts
        ? index < header.numSignerAccounts - header.numReadonlySignerAccounts
        : index < staticAccounts.length - header.numReadonlyNonSignerAccounts,
    );
    const texts = signatures.map((signature) => base58.decode(signature ?? new Uint8Array(64)));
    return {
      transaction,
      message: { ...message, version: message.version },
      signatures: texts,
      wire: bytes.toString('base64'),
      signature: firstOf(texts),
      blockhash: message.lifetimeToken,
      writable,
    };
  } catch (error) {
    throw error instanceof RpcError ? error : invalidParams('failed to deserialize the transaction');
  }
}
