import { APIConnectionError } from '../../../../../client/http/errors.ts';
import { SERVICE_URL } from './service.ts';
import { endSession, withKey } from './session.ts';

/** An answer as the service sent it. */
export interface RawAnswer {
  status: number;
  headers: Headers;
  /** The first `ANSWER_MAX_BYTES` of it. */
  text: string;
  isCut: boolean;
  /** Time in ms to the first byte, as this browser saw it. */
  ms: number;
}

/** What to send; `keyHeader` null sends no key. */
interface RawRequest {
  method: string;
  target: string;
  body: string | null;
  contentType: string | null;
  keyHeader: string | null;
}

const DEADLINE_MS = 20_000;
/** Bytes of an answer that are read; the rest is not asked for. */
export const ANSWER_MAX_BYTES = 256 * 1024;

/** Sends a request as it is. Resolves with any answer, even an error. Rejects as `ask` does. */
export function sendRaw({ keyHeader, ...request }: RawRequest, signal: AbortSignal): Promise<RawAnswer> {
  if (keyHeader === null) return answerTo(request, {}, signal);
  return withKey(async (key) => {
    const secret = keyHeader === 'Authorization' ? `Bearer ${key}` : key;
    const answer = await answerTo(request, { [keyHeader]: secret }, signal);
    if (answer.status === 401) endSession('refused');
    return answer;
  });
}

/** Reads a document of the service that needs no key. Rejects as `ask` does. */
export async function readOpenJson(path: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetched(path, {}, signal);
  if (!response.ok) throw new APIConnectionError(`The service answered ${response.status}.`);
  return await response.json();
}

async function answerTo(
  { method, target, body, contentType }: Omit<RawRequest, 'keyHeader'>,
  secret: Record<string, string>,
  signal: AbortSignal,
): Promise<RawAnswer> {
  const headers = { ...secret, ...(contentType !== null && { 'Content-Type': contentType }) };
  const beganMs = performance.now();
  const response = await fetched(target, { method, headers, ...(body !== null && { body }) }, signal);
  const ms = performance.now() - beganMs;
  return { status: response.status, headers: response.headers, ms, ...(await firstBytes(response)) };
}

async function fetched(target: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const whole = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
  try {
    return await fetch(`${SERVICE_URL}${target}`, { ...init, signal: whole, cache: 'no-store', credentials: 'omit' });
  } catch (error) {
    if (error instanceof TypeError) throw new APIConnectionError('The request got no answer.', { cause: error });
    throw error;
  }
}

async function firstBytes({ body }: Response): Promise<{ text: string; isCut: boolean }> {
  if (body === null) return { text: '', isCut: false };
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let [text, bytes] = ['', 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), isCut: false };
    text += decoder.decode(value.subarray(0, ANSWER_MAX_BYTES - bytes), { stream: true });
    bytes += value.length;
    if (bytes <= ANSWER_MAX_BYTES) continue;
    await reader.cancel();
    return { text, isCut: true };
  }
}
