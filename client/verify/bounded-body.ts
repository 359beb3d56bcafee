/** Maximum length of a string in V8, in characters. */
const STRING_MAX_CHARS = 2 ** 29 - 24;

/**
 * Returns the text of an answer. If it has more than `maxBytes` after decompression, stops reading
 * and returns null. Rejects when the signal is aborted.
 */
export async function boundedText(response: Response, maxBytes: number, signal: AbortSignal): Promise<string | null> {
  // Some implementations of `fetch` do not stream.
  if (typeof response.body?.getReader !== 'function') return response.text();
  const decoder = new TextDecoder();
  let text = '';
  const isWhole = await readChunks(response.body, Math.min(maxBytes, STRING_MAX_CHARS), signal, (chunk) => {
    text += decoder.decode(chunk, { stream: true });
  });
  return isWhole ? text + decoder.decode() : null;
}

/** Returns the bytes of an answer, with the limits of `boundedText`. */
export async function boundedBytes(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  if (typeof response.body?.getReader !== 'function') return new Uint8Array(await response.arrayBuffer());
  const chunks: Uint8Array[] = [];
  const isWhole = await readChunks(response.body, maxBytes, signal, (chunk) => void chunks.push(chunk));
  return isWhole ? joined(chunks) : null;
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** Passes the chunks to `take`. Returns whether the body ended within `maxBytes`. */
async function readChunks(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
  take: (chunk: Uint8Array) => void,
): Promise<boolean> {
  const reader = body.getReader();
  // Only a body that failed already refuses this.
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  // Node 20's fetch can ignore its signal after the headers of an answer have arrived.
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
