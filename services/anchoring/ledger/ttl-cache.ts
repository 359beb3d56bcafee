/**
 * Gives an answer that is asked for again once it is too old. Who asks meanwhile waits for the same
 * one; a failure, which is thrown, is not kept.
 */
export function cached<T>(ask: () => Promise<T>, maxAgeMs: number, monotonicMs: () => number): () => Promise<T> {
  let last: { answer: Promise<T>; atMs: number } | null = null;
  return () => {
    const nowMs = monotonicMs();
    if (last === null || nowMs - last.atMs > maxAgeMs) {
      const asked = { answer: ask(), atMs: nowMs };
      last = asked;
      asked.answer.catch(() => {
        if (last === asked) last = null;
      });
    }
    return last.answer;
  };
}
