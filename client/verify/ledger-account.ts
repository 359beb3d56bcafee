import { isBase64 } from './byte-reader.ts';
import { askNode, LedgerError, membersOf, resultIn } from './ledger-node.ts';
import type { AccountSnapshot } from './verify-account.ts';

/** An account without its address, which the request named. */
export type AccountContent = Omit<AccountSnapshot, 'address'>;

/** Fetches an account from a node; null if there is none. Rejects with LedgerError. */
export async function ledgerAccount(
  url: string,
  address: string,
  signal?: AbortSignal,
): Promise<AccountContent | null> {
  const params = [address, { encoding: 'base64', commitment: 'confirmed' }];
  const { answer, origin } = await askNode(url, 'getAccountInfo', params, signal);
  const { value } = membersOf(resultIn(answer, origin, 'an account'));
  return value === null ? null : contentIn(value, origin);
}

/**
 * Extracts the account from an answer to getAccountInfo, its `result`, or the account itself. Null
 * if the answer says that there is none. Throws LedgerError if it is malformed.
 */
export function accountIn(answer: unknown, source: string): AccountContent | null {
  const { value } = membersOf(resultIn(answer, source, 'an account') ?? answer);
  return value === null ? null : contentIn(value ?? answer, source);
}

function contentIn(account: unknown, source: string): AccountContent {
  const { data, owner } = membersOf(account);
  const [text, encoding] = Array.isArray(data) ? data : [];
  if (!isBase64(text) || encoding !== 'base64' || typeof owner !== 'string')
    throw new LedgerError(`${source} has no account in base64 as getAccountInfo answers it.`);
  return { data: text, owner };
}
