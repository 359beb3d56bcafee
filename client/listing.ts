interface Page {
  nextCursor?: string | null;
}

/**
 * A list that comes in pages: `for await (const item of listing)` asks for them one by one, as they
 * are needed. Nothing is asked before.
 */
export class Listing<P extends Page, T> implements AsyncIterable<T> {
  readonly #ask: (cursor: string | undefined) => Promise<P>;
  readonly #itemsOf: (page: P) => readonly T[];

  constructor(ask: (cursor: string | undefined) => Promise<P>, itemsOf: (page: P) => readonly T[]) {
    this.#ask = ask;
    this.#itemsOf = itemsOf;
  }

  /** The page at the given cursor, else the first. */
  page(): Promise<P> {
    return this.#ask(undefined);
  }

  /** That page and all after it. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.#ask(cursor);
      yield page;
      if (page.nextCursor == null) return;
      cursor = page.nextCursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* this.#itemsOf(page);
  }

  /** All items. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}
