import { getBase58Decoder } from '@solana/web3.js';
import type { TransactionRecord } from './ledger-state.ts';
import { readTransaction } from './wire-transaction.ts';

const base58 = getBase58Decoder();

/**
 * A transaction as `getTransaction` answers it. With `jsonParsed`, instructions have the form of
 * programs without a parser.
 */
export function transactionAnswer(record: TransactionRecord, encoding: 'json' | 'jsonParsed' | 'base58' | 'base64') {
  const bytes = Buffer.from(record.wire, 'base64');
  const answer = {
    slot: record.slot,
    blockTime: record.blockTime,
    version: record.version,
    meta: {
      err: record.err,
      status: record.err === null ? { Ok: null } : { Err: record.err },
      fee: record.fee,
      preBalances: record.preBalances,
      postBalances: record.postBalances,
      preTokenBalances: [],
      postTokenBalances: [],
      innerInstructions: encoding === 'jsonParsed' ? [] : record.inner,
      logMessages: record.logs,
      computeUnitsConsumed: record.computeUnits,
      loadedAddresses: { readonly: [], writable: [] },
      rewards: [],
    },
  };
  if (encoding === 'base64') return { ...answer, transaction: [record.wire, encoding] };
  if (encoding === 'base58') return { ...answer, transaction: [base58.decode(bytes), encoding] };
  const { transaction, message, writable, blockhash } = readTransaction(bytes);
  const { header, staticAccounts } = message;
  const signatures = Object.values(transaction.signatures).map((signature) =>
    base58.decode(signature ?? new Uint8Array(64)),
  );
  const name = (index: number) => staticAccounts[index];
  const parsed = encoding === 'jsonParsed';
  const instructions = message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
    ...(parsed
      ? { programId: name(programAddressIndex), accounts: accountIndices.map(name) }
      : { programIdIndex: programAddressIndex, accounts: accountIndices }),
    data: base58.decode(data ?? new Uint8Array()),
    stackHeight: null,
  }));
  const canWrite = new Set<string>(writable);
  const accountKeys = parsed
    ? staticAccounts.map((pubkey, index) => ({
        pubkey,
        signer: index < header.numSignerAccounts,
        source: 'transaction',
        writable: canWrite.has(pubkey),
      }))
    : staticAccounts;
  const parts = parsed
    ? {}
    : {
        header: {
          numRequiredSignatures: header.numSignerAccounts,
          numReadonlySignedAccounts: header.numReadonlySignerAccounts,
          numReadonlyUnsignedAccounts: header.numReadonlyNonSignerAccounts,
        },
      };
  return {
    ...answer,
    transaction: { signatures, message: { accountKeys, ...parts, recentBlockhash: blockhash, instructions } },
  };
}
