/**
 * Runs work under one name strictly one after another, in the order it was asked for; different
 * names do not wait for each other. Mutexes of packages have neither names nor `settled`.
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

  /** Resolves when all that is asked for by now under names that start with `prefix` has ended. */
  async settled(prefix: string): Promise<void> {
    await Promise.all([...this.#tails].filter(([name]) => name.startsWith(prefix)).map(([, tail]) => tail));
  }
}
