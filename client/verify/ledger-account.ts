import type { AccountSnapshot } from './verify-account.ts';

/** An account without its address, which is what was asked for. */
export type AccountContent = Omit<AccountSnapshot, 'address'>;

/** A node of the ledger could not be asked, or answered with something else than an account. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
}

const RPC_TIMEOUT_MS = 15_000;
/** A hundred times an answer with a collection's account. */
const ANSWER_MAX_BYTES = 256 * 1024;

/**
 * Asks a node of the ledger for an account; null where there is none. Rejects with a LedgerError,
 * which names the URL's origin at most: keys stand in paths and queries.
 */
export async function ledgerAccount(
  url: string,
  address: string,
  signal?: AbortSignal,
): Promise<AccountContent | null> {
  const where = URL.canParse(url) ? new URL(url) : null;
  if (where === null || !/^https?:$/.test(where.protocol) || where.username !== '' || where.password !== '')
    throw new LedgerError("The ledger's URL must be http or https, without a user name.");
  const { origin } = where;
  const params = [address, { encoding: 'base64', commitment: 'confirmed' }];
  let status: number;
  let text: string;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getAccountInfo', params }),
      // The node that is trusted answers, and no other.
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(RPC_TIMEOUT_MS), ...(signal ? [signal] : [])]),
    });
    ({ status } = response);
    text = await boundedText(response);
  } catch (error) {
    signal?.throwIfAborted();
    throw new LedgerError(`${origin} could not be asked: ${(error as Error).message}`);
  }
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new LedgerError(`${origin} answered with HTTP status ${status} and no JSON.`);
  }
  return accountIn(answer, origin);
}

async function boundedText(response: Response): Promise<string> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > ANSWER_MAX_BYTES) {
      await reader.cancel();
      throw new Error(`its answer has more than ${ANSWER_MAX_BYTES} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * The account in an answer to getAccountInfo; null where that says that there is none. Throws
 * LedgerError.
 */
export function accountIn(answer: unknown, source: string): AccountContent | null {
  const { result, error } = membersOf(answer);
  if (error !== undefined && error !== null) {
    const { message } = membersOf(error);
    const said = typeof message === 'string' ? message : 'it does not say which';
    throw new LedgerError(`${source} has an error in place of an account: ${said}`);
  }
  const { value } = membersOf(result ?? answer);
  if (value === null) return null;
  // A file may hold the account alone.
  const { data, owner } = membersOf(value ?? answer);
  const bytes = Array.isArray(data) ? data[0] : data;
  if (typeof bytes !== 'string' || typeof owner !== 'string')
    throw new LedgerError(`${source} has no account in base64 as getAccountInfo answers it.`);
  return { data: bytes, owner };
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
