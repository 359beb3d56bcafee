import { type AccountContent, accountIn, ledgerAccount } from '../verify/ledger-account.ts';
import { LedgerError } from '../verify/ledger-node.ts';
import { ledgerTransaction, transactionIn } from '../verify/ledger-transaction.ts';
import type { Ledger } from '../verify/verify-on-ledger.ts';
import { InputError, readJson, UnreachableLedgerError } from './json-file.ts';

/** Functions that read the ledger. They reject with an InputError if it cannot be read. */
export type LedgerSource = Pick<Ledger, 'readAccount' | 'readTransaction'>;

/** Reads from a node of the ledger. */
export const nodeAt = (url: string): LedgerSource => ({
  readAccount: (address) => asInputError(() => ledgerAccount(url, address), UnreachableLedgerError),
  readTransaction: (signature) => asInputError(() => ledgerTransaction(url, signature), UnreachableLedgerError),
});

/** Reads files with a node's answers to getAccountInfo and, optionally, to getTransaction. */
export const answersIn = (accountPath: string, transactionPath: string | undefined): LedgerSource => ({
  readAccount: () => readAs<AccountContent | null>(accountPath, accountIn),
  ...(transactionPath !== undefined && { readTransaction: () => readAs<unknown>(transactionPath, transactionIn) }),
});

async function readAs<T>(path: string, read: (answer: unknown, source: string) => T): Promise<T> {
  const answer = await readJson(path);
  return asInputError(async () => read(answer, path), InputError);
}

async function asInputError<T>(read: () => Promise<T>, Kind: typeof InputError): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof LedgerError ? new Kind(error.message) : error;
  }
}
