import { askNode, LedgerError, membersOf, resultIn } from './ledger-node.ts';
import type { AccountSnapshot } from './verify-account.ts';

/** An account without its address, which is what was asked for. */
export type AccountContent = Omit<AccountSnapshot, 'address'>;

/** Asks a node of the ledger for an account; null if it has none. Rejects with LedgerError. */
export async function ledgerAccount(
  url: string,
  address: string,
  signal?: AbortSignal,
): Promise<AccountContent | null> {
  const params = [address, { encoding: 'base64', commitment: 'confirmed' }];
  const { answer, origin } = await askNode(url, 'getAccountInfo', params, signal);
  return accountIn(answer, origin);
}

/**
 * The account in an answer to getAccountInfo; null where that says that there is none. Throws
 * LedgerError.
 */
export function accountIn(answer: unknown, source: string): AccountContent | null {
  const { value } = membersOf(resultIn(answer, source, 'an account') ?? answer);
  if (value === null) return null;
  // A file may hold the account alone.
  const { data, owner } = membersOf(value ?? answer);
  const bytes = Array.isArray(data) ? data[0] : data;
  if (typeof bytes !== 'string' || typeof owner !== 'string')
    throw new LedgerError(`${source} has no account in base64 as getAccountInfo answers it.`);
  return { data: bytes, owner };
}
