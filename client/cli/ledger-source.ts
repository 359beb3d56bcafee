import { type AccountContent, accountIn, ledgerAccount } from '../verify/ledger-account.ts';
import { LedgerError } from '../verify/ledger-node.ts';
import { ledgerTransaction, transactionIn } from '../verify/ledger-transaction.ts';
import type { LedgerSource } from '../verify/verdict.ts';
import { InputError, readJson, UnreachableLedgerError } from './json-file.ts';

/** Reads from a node of the ledger. Rejects with an InputError if the node cannot be read. */
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
