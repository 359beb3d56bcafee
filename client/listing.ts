import { EndlessListDetector } from './endless-list-detector.ts';

interface Page {
  nextCursor?: string | null;
}

/**
 * A paginated list. `for await (const item of listing)` requests each page when it is needed. The
 * constructor sends no request.
 */
export class Listing<P extends Page, T, Q extends { cursor?: string } = object> implements AsyncIterable<T> {
  readonly #first: Q;
  readonly #ask: (request: Q) => Promise<P>;
  readonly #itemsOf: (page: P) => readonly T[];

  /** `first`: request for the first page. Requests for later pages differ in their `cursor`. */
  constructor(first: Q, ask: (request: Q) => Promise<P>, itemsOf: (page: P) => readonly T[]) {
    this.#first = first;
    this.#ask = ask;
    this.#itemsOf = itemsOf;
  }

  /** Returns the page at the list's cursor, by default the first page. */
  page(): Promise<P> {
    return this.#ask(this.#first);
  }

  /** Yields that page and all pages after it. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    const detector = new EndlessListDetector();
    for (let request = this.#first; ; ) {
      const page = await this.#ask(request);
      if (page.nextCursor != null) detector.assertProgress(this.#itemsOf(page).length, page.nextCursor);
      yield page;
      if (page.nextCursor == null) return;
      request = { ...request, cursor: page.nextCursor };
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* this.#itemsOf(page);
  }

  /** Returns the items of all these pages. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}
