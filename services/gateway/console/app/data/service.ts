import type { Operations } from '../../../../../client/api/generated.ts';
import { ForbiddenError } from '../../../../../client/http/errors.ts';
import { type CallArguments, type OperationId, Transport } from '../../../../../client/http/transport.ts';
import { type KeyScopes, withKey } from './session.ts';

/** Address of the service: the folder above the console's, so that a proxy may add a prefix. */
export const SERVICE_URL = new URL('..', document.baseURI).href.replace(/\/$/, '');

/** Time in ms after which the console gives up on an answer, retries included. */
export const DEADLINE_MS = 20_000;
/** Time in ms during which the client repeats a request that failed for a moment. */
const RETRY_FOR_MS = 3_000;

/** Answer of an operation. */
export type AnswerOf<K extends OperationId> = Operations[K]['result'];

/**
 * Calls an operation with the session's key. All requests but transfers of files go through here.
 * Rejects with the client's errors, with a TimeoutError after the deadline, and with an AbortError
 * when `signal` aborts. Ends the session if the service no longer accepts the key.
 */
export function ask<K extends OperationId>(
  operation: K,
  call: CallArguments<K>,
  signal?: AbortSignal,
): Promise<AnswerOf<K>> {
  return withKey((key) => askWith(key, operation, call, signal));
}

/** Calls an operation that needs no key, and sends none. Rejects like `ask`. */
export function askOpenly<K extends OperationId>(operation: K, call: CallArguments<K>, signal: AbortSignal) {
  return askWith('none', operation, call, signal, { fetch: fetchWithoutKey });
}

interface AskOptions {
  fetch?: typeof globalThis.fetch;
  deadlineMs?: number;
}

/** Calls an operation with a key or the operator's token. Rejects like `ask`. */
export function askWith<K extends OperationId>(
  key: string,
  operation: K,
  call: CallArguments<K>,
  signal?: AbortSignal,
  { fetch, deadlineMs = DEADLINE_MS }: AskOptions = {},
): Promise<AnswerOf<K>> {
  const deadline = AbortSignal.timeout(deadlineMs);
  // Pages show an answer's warnings beside it; the browser's console stays quiet.
  const options = { url: SERVICE_URL, apiKey: key, retryForMs: RETRY_FOR_MS, onWarning: () => undefined };
  return new Transport({ ...options, ...(fetch && { fetch }) }).send(operation, call, {
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
  });
}

/** The transport has a key for every request. */
const fetchWithoutKey: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.delete('authorization');
  return fetch(input, { ...init, headers });
};

/**
 * Finds out what a key may do, with two reads that change nothing. Rejects with
 * UnauthenticatedError if the service does not know the key.
 */
export async function scopesOf(key: string, signal?: AbortSignal): Promise<KeyScopes> {
  const may = (answer: Promise<unknown>) =>
    answer.then(
      () => true,
      (error: unknown) => {
        if (error instanceof ForbiddenError) return false;
        throw error;
      },
    );
  const [read, manage] = await Promise.all([
    may(askWith(key, 'getUsage', {}, signal)),
    may(askWith(key, 'listKeys', { query: { limit: 1 } }, signal)),
  ]);
  return { read, manage };
}
