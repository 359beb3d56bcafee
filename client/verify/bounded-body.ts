import { concatBytes } from '@noble/hashes/utils.js';

/** Maximum length of a string in V8, which no option exceeds. */
const STRING_MAX_CHARS = 2 ** 29 - 24;

/**
 * The text of an answer, or null if it has more than `maxBytes` after decompression: then the rest
 * is not read. Rejects when the signal is aborted.
 */
export async function boundedText(response: Response, maxBytes: number, signal: AbortSignal): Promise<string | null> {
  // A `fetch` without streams.
  if (typeof response.body?.getReader !== 'function') return response.text();
  const decoder = new TextDecoder();
  let text = '';
  const isWhole = await readChunks(response.body, Math.min(maxBytes, STRING_MAX_CHARS), signal, (chunk) => {
    text += decoder.decode(chunk, { stream: true });
  });
  return isWhole ? text + decoder.decode() : null;
}

/** The bytes of an answer, as `boundedText` reads them. */
export async function boundedBytes(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  if (typeof response.body?.getReader !== 'function') return new Uint8Array(await response.arrayBuffer());
  const chunks: Uint8Array[] = [];
  const isWhole = await readChunks(response.body, maxBytes, signal, (chunk) => void chunks.push(chunk));
  return isWhole ? concatBytes(...chunks) : null;
}

/** Whether the body ended within `maxBytes`; all of it was handed to `take`. */
async function readChunks(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
  take: (chunk: Uint8Array) => void,
): Promise<boolean> {
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  // Node 20's fetch can forget its signal once the head of an answer arrived.
  signal.addEventListener('abort', cancel, { once: true });
  try {
    for (let leftBytes = maxBytes; ; ) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return true;
      leftBytes -= value.length;
      if (leftBytes < 0) {
        cancel();
        return false;
      }
      take(value);
    }
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
