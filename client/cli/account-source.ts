import type { AccountSnapshot } from '../verify/verify-account.ts';
import { Misuse, readJson, within } from './json-file.ts';

type Account = Omit<AccountSnapshot, 'address'>;

const RPC_TIMEOUT_MS = 15_000;
/** A hundred times an answer with a collection's account. */
const ANSWER_MAX_BYTES = 256 * 1024;

/**
 * The account in a file with an answer to getAccountInfo; null when it says that there is none.
 * Throws Misuse.
 */
export async function accountInFile(path: string): Promise<Account | null> {
  return accountIn(await readJson(path), path);
}

/**
 * Asks a node of the ledger. Throws Misuse, which names the URL's origin at most: keys stand in
 * paths and queries.
 */
export async function accountAt(url: string, address: string): Promise<Account | null> {
  const where = URL.canParse(url) ? new URL(url) : null;
  if (where === null || !/^https?:$/.test(where.protocol) || where.username !== '' || where.password !== '')
    throw new Misuse('--rpc must be an http or https URL without a user name.');
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
      signal: AbortSignal.timeout(RPC_TIMEOUT_MS),
    });
    ({ status } = response);
    text = await boundedText(response);
  } catch (error) {
    throw new Misuse(`${origin} could not be asked: ${(error as Error).message}`);
  }
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Misuse(`${origin} answered with HTTP status ${status} and no JSON.`);
  }
  return accountIn(answer, origin);
}

/** Leaving the loop ends the connection. */
async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_MAX_BYTES) throw new Error(`its answer has more than ${ANSWER_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function accountIn(answer: unknown, source: string): Account | null {
  const error = within(answer, 'error');
  if (error !== answer && error !== null) {
    const message = within(error, 'message');
    throw new Misuse(
      `${source} has an error in place of an account: ${typeof message === 'string' ? message : 'it does not say which'}`,
    );
  }
  const value = within(within(answer, 'result'), 'value');
  if (value === null) return null;
  const { data, owner } = value as { data?: unknown; owner?: unknown };
  const bytes = Array.isArray(data) ? data[0] : data;
  if (typeof bytes !== 'string' || typeof owner !== 'string')
    throw new Misuse(`${source} has no account in base64 as getAccountInfo answers it.`);
  return { data: bytes, owner };
}
