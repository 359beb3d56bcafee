/**
 * An answer that is asked for again once it is too old. Who asks meanwhile waits for the same one;
 * a failure is not kept.
 */
export class TtlCache<T> {
  readonly #ask: () => Promise<T>;
  readonly #maxAgeMs: number;
  readonly #monotonicMs: () => number;
  #asked: { answer: Promise<T>; atMs: number } | null = null;

  constructor(ask: () => Promise<T>, maxAgeMs: number, monotonicMs: () => number) {
    this.#ask = ask;
    this.#maxAgeMs = maxAgeMs;
    this.#monotonicMs = monotonicMs;
  }

  /** Throws what asking throws. */
  get(): Promise<T> {
    const nowMs = this.#monotonicMs();
    if (this.#asked === null || nowMs - this.#asked.atMs > this.#maxAgeMs) {
      const asked = { answer: this.#ask(), atMs: nowMs };
      this.#asked = asked;
      asked.answer.catch(() => {
        if (this.#asked === asked) this.#asked = null;
      });
    }
    return this.#asked.answer;
  }
}
