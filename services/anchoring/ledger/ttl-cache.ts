/**
 * Returns a function that caches the result of `ask` for `maxAgeMs`. Concurrent callers share one
 * call. Errors are thrown and not cached.
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
