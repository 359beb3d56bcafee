/** Formats transactions and blocks like Solana's JSON-RPC. */
import { getBase58Decoder } from '@solana/web3.js';
import type { CompiledInstruction, TransactionRecord } from './ledger-state.ts';
import { RPC_ERROR, RpcError } from './rpc-error.ts';
import { readTransaction, type WireTransaction } from './wire-transaction.ts';

export type TransactionEncoding = 'json' | 'jsonParsed' | 'base64' | 'base58';

export interface TransactionForm {
  encoding: TransactionEncoding;
  /** Highest transaction version that the client accepts; null: only legacy transactions. */
  maxVersion: number | null;
}

const base58 = getBase58Decoder();

/** Returns the result of `getTransaction`. Throws RpcError for an unsupported version. */
export function transactionAnswer(kept: TransactionRecord, form: TransactionForm) {
  return { slot: kept.slot, blockTime: kept.content.blockTime, ...transactionInBlock(kept, form) };
}

/** Returns a transaction as `getBlock` lists it. Throws like `transactionAnswer`. */
export function transactionInBlock({ err, content }: TransactionRecord, { encoding, maxVersion }: TransactionForm) {
  const wire = readTransaction(Buffer.from(content.wire, 'base64'));
  const { version } = wire.message;
  if (version !== 'legacy' && version > (maxVersion ?? -1))
    throw new RpcError(
      RPC_ERROR.UNSUPPORTED_VERSION,
      `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
    );
  const shown = (instruction: CompiledInstruction) =>
    encoding === 'jsonParsed' ? named(instruction, content.addresses) : instruction;
  const meta = {
    err,
    status: err === null ? { Ok: null } : { Err: err },
    fee: sum(content.before) - sum(content.after),
    preBalances: content.before,
    postBalances: content.after,
    innerInstructions: content.inner.map(({ index, instructions }) => ({
      index,
      instructions: instructions.map(shown),
    })),
    logMessages: content.logs,
    // Collections' mints have no token accounts, and other tokens are not tracked.
    preTokenBalances: [],
    postTokenBalances: [],
    rewards: [],
    loadedAddresses: { writable: [], readonly: [] },
    computeUnitsConsumed: content.units,
  };
  return { transaction: encoded(wire, encoding), meta, ...(maxVersion !== null && { version }) };
}

function encoded(wire: WireTransaction, encoding: TransactionEncoding) {
  if (encoding === 'base64') return [wire.wire, encoding];
  if (encoding === 'base58') return [base58.decode(Buffer.from(wire.wire, 'base64')), encoding];
  const { message, signatures, blockhash, writable } = wire;
  const addresses: string[] = [...message.staticAccounts];
  const instructions = message.instructions.map(
    ({ programAddressIndex, accountIndices = [], data = new Uint8Array() }): CompiledInstruction => ({
      programIdIndex: programAddressIndex,
      accounts: [...accountIndices],
      data: base58.decode(data),
      stackHeight: null,
    }),
  );
  const lookups = message.version === 0 && { addressTableLookups: [] };
  if (encoding === 'json') {
    const { header } = message;
    const counts = {
      numRequiredSignatures: header.numSignerAccounts,
      numReadonlySignedAccounts: header.numReadonlySignerAccounts,
      numReadonlyUnsignedAccounts: header.numReadonlyNonSignerAccounts,
    };
    const shown = { header: counts, accountKeys: addresses, recentBlockhash: blockhash, instructions, ...lookups };
    return { signatures, message: shown };
  }
  const accountKeys = addresses.map((pubkey, at) => ({
    pubkey,
    signer: at < message.header.numSignerAccounts,
    writable: writable.includes(pubkey),
    source: 'transaction',
  }));
  const parsed = instructions.map((instruction) => named(instruction, addresses));
  return { signatures, message: { accountKeys, recentBlockhash: blockhash, instructions: parsed, ...lookups } };
}

/** Formats an instruction like a validator without a parser for its program. */
const named = ({ programIdIndex, accounts, data, stackHeight }: CompiledInstruction, addresses: readonly string[]) => ({
  programId: addresses[programIdIndex],
  accounts: accounts.map((at) => addresses[at]),
  data,
  stackHeight,
});

/** Before minus after gives the fee, which is all that a transaction's accounts lose. */
const sum = (lamports: readonly number[]): number => lamports.reduce((total, each) => total + each, 0);
