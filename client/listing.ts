import { CursorWatch } from './cursor-watch.ts';

interface Page {
  nextCursor?: string | null;
}

/**
 * A list that comes in pages: `for await (const item of listing)` asks for them one by one, as they
 * are needed. Nothing is asked before.
 */
export class Listing<P extends Page, T, Q extends { cursor?: string } = object> implements AsyncIterable<T> {
  readonly #first: Q;
  readonly #ask: (request: Q) => Promise<P>;
  readonly #itemsOf: (page: P) => readonly T[];

  /** `first`: the request of the first page. Those of later pages have another `cursor`. */
  constructor(first: Q, ask: (request: Q) => Promise<P>, itemsOf: (page: P) => readonly T[]) {
    this.#first = first;
    this.#ask = ask;
    this.#itemsOf = itemsOf;
  }

  /** The page at the given cursor, else the first. */
  page(): Promise<P> {
    return this.#ask(this.#first);
  }

  /** That page and all after it. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    const cursors = new CursorWatch();
    for (let request = this.#first; ; ) {
      const page = await this.#ask(request);
      if (page.nextCursor != null) cursors.assertNew(page.nextCursor);
      yield page;
      if (page.nextCursor == null) return;
      request = { ...request, cursor: page.nextCursor };
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
