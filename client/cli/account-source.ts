import { type AccountContent, accountIn, LedgerError, ledgerAccount } from '../verify/ledger-account.ts';
import { Misuse, readJson } from './json-file.ts';

/**
 * The account in a file with an answer to getAccountInfo; null when it says that there is none.
 * Throws Misuse.
 */
export async function accountInFile(path: string): Promise<AccountContent | null> {
  const answer = await readJson(path);
  return asMisuse(async () => accountIn(answer, path));
}

/** Asks a node of the ledger. Throws Misuse. */
export async function accountAt(url: string, address: string): Promise<AccountContent | null> {
  return asMisuse(() => ledgerAccount(url, address));
}

async function asMisuse<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof LedgerError ? new Misuse(error.message) : error;
  }
}
