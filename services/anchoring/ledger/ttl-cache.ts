/**
 * Gives an answer that is asked for again once it is too old. Who asks meanwhile waits for the same
 * one; a failure, which is thrown, is not kept.
 */
export function cached<T>(ask: () => Promise<T>, maxAgeMs: number, monotonicMs: () => number): () => Promise<T> {
  let last: { answer: Promise<T>; askedMs: number } | null = null;
  return () => {
    const askedMs = monotonicMs();
    if (last === null || askedMs - last.askedMs > maxAgeMs) {
      const asked = { answer: ask(), askedMs };
      last = asked;
      asked.answer.catch(() => {
        if (last === asked) last = null;
      });
    }
    return last.answer;
  };
}
