/** Maximum length of a string in V8, which no option exceeds. */
const STRING_MAX_CHARS = 2 ** 29 - 24;

/**
 * The text of an answer, or null if it has more than `maxBytes` after decompression: then the rest
 * is not read. Rejects when the signal is aborted.
 */
export async function boundedText(response: Response, maxBytes: number, signal: AbortSignal): Promise<string | null> {
  // A `fetch` without streams.
  if (typeof response.body?.getReader !== 'function') return response.text();
  const reader = response.body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  // Node 20's fetch can forget its signal once the head of an answer arrived.
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const decoder = new TextDecoder();
    let text = '';
    let leftBytes = Math.min(maxBytes, STRING_MAX_CHARS);
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return text + decoder.decode();
      leftBytes -= value.length;
      if (leftBytes < 0) {
        cancel();
        return null;
      }
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
