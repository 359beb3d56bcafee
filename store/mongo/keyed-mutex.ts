/**
 * Runs work under one name strictly in the order of the calls; different names do not wait for each
 * other. Mutexes on npm have neither names nor `settled`.
 */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>();

  inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#tails.get(name) ?? Promise.resolve()).then(work);
    const tail = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(name, tail);
    void tail.then(() => {
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    });
    return turn;
  }

  /** Resolves when all work requested so far under names that start with `prefix` has ended. */
  async settled(prefix: string): Promise<void> {
    await Promise.all([...this.#tails].filter(([name]) => name.startsWith(prefix)).map(([, tail]) => tail));
  }
}
