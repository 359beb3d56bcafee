import { CursorWatch } from './cursor-watch.ts';

interface Page {
  nextCursor?: string | null;
}

/** Field that the request of a later page adds to that of the first. */
export interface Next {
  cursor?: string;
}

/**
 * A list that comes in pages: `for await (const item of listing)` asks for them one by one, as they
 * are needed. Nothing is asked before.
 */
export class Listing<P extends Page, T> implements AsyncIterable<T> {
  readonly #ask: (next: Next) => Promise<P>;
  readonly #itemsOf: (page: P) => readonly T[];

  constructor(ask: (next: Next) => Promise<P>, itemsOf: (page: P) => readonly T[]) {
    this.#ask = ask;
    this.#itemsOf = itemsOf;
  }

  /** The page at the given cursor, else the first. */
  page(): Promise<P> {
    return this.#ask({});
  }

  /** That page and all after it. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    const cursors = new CursorWatch();
    for (let next: Next = {}; ; ) {
      const page = await this.#ask(next);
      if (page.nextCursor != null) cursors.assertNew(page.nextCursor);
      yield page;
      if (page.nextCursor == null) return;
      next = { cursor: page.nextCursor };
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
