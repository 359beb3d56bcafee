import { boundedBytes } from './bounded-body.ts';
import { parseJsonBytes } from './json-text.ts';

/** A node of the ledger was unreachable, or its answer was invalid. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
}

const RPC_TIMEOUT_MS = 15_000;
/** Maximum size of an answer: a hundred times that of one with a collection's account. */
const ANSWER_MAX_BYTES = 256 * 1024;

/**
 * Sends an RPC request to a node of the ledger. Rejects with a LedgerError that names only the
 * URL's origin, because paths and queries may contain keys.
 */
export async function askNode(
  url: string,
  method: string,
  params: readonly unknown[],
  signal?: AbortSignal,
): Promise<{ answer: unknown; origin: string }> {
  const where = URL.canParse(url) ? new URL(url) : null;
  if (where === null || !/^https?:$/.test(where.protocol) || where.username !== '' || where.password !== '')
    throw new LedgerError("The ledger's URL must be http or https, without a user name.");
  const { origin } = where;
  let response: Response;
  let bytes: Uint8Array | null;
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(new Error(`no answer within ${RPC_TIMEOUT_MS} ms`)), RPC_TIMEOUT_MS);
  const onAbort = (): void => ended.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  try {
    signal?.throwIfAborted();
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      // Only the trusted node may answer.
      redirect: 'error',
      signal: ended.signal,
    });
    bytes = await boundedBytes(response, ANSWER_MAX_BYTES, ended.signal);
    if (bytes === null) throw new Error(`its answer has more than ${ANSWER_MAX_BYTES} bytes`);
  } catch (error) {
    signal?.throwIfAborted();
    throw new LedgerError(`${origin} could not be asked: ${(error as Error).message}`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
  const answered = `${origin} answered with HTTP status ${response.status}`;
  let answer: unknown;
  try {
    answer = parseJsonBytes(bytes);
  } catch {
    throw new LedgerError(`${answered} and no JSON.`);
  }
  // The node's own error says more than the status.
  if (!response.ok && !hasError(answer)) throw new LedgerError(`${answered}.`);
  return { answer, origin };
}

const hasError = (answer: unknown): boolean => (membersOf(answer).error ?? null) !== null;

/** Returns the result of a node's answer. Throws LedgerError for an error; `what` was expected. */
export function resultIn(answer: unknown, source: string, what: string): unknown {
  const { result, error } = membersOf(answer);
  if (hasError(answer)) {
    const { message } = membersOf(error);
    const reason = typeof message === 'string' ? message : 'it does not say which';
    throw new LedgerError(`${source} has an error in place of ${what}: ${reason}`);
  }
  return result;
}

export const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
