import type { RouteCall } from '../route.ts';
import type { Pieces } from './json-pieces.ts';

/** Pages and their JSON. */
export interface PageSource<Page> {
  /** Reads the page at `cursor`, or the first. Throws the action's errors. */
  read(call: RouteCall, cursor?: string): Promise<Page>;
  /** JSON before the first member. */
  opening: string;
  /** JSON of each member of a page; null for one that the response leaves out. */
  members(page: Page): Iterable<string | null>;
  /** JSON after the last member. */
  closing(): string;
  /** Memory of a page in bytes. */
  bytesOf(page: Page): number;
}

/** A response sent page by page while it is read, so that the gateway holds only one page. */
export class PagedResponse<Page extends { nextCursor?: string }> {
  readonly #source: PageSource<Page>;
  #page: Page;
  #separator: string;

  constructor(source: PageSource<Page>, first: Page) {
    this.#source = source;
    this.#page = first;
    this.#separator = source.opening;
  }

  get heldBytes(): number {
    return this.#source.bytesOf(this.#page);
  }

  /** Returns the current page's part of the response; the last part ends it. */
  part(): Pieces {
    const response = this;
    return function* write(json) {
      const source = response.#source;
      for (const member of source.members(response.#page)) {
        if (member !== null) {
          json.text(response.#separator + member);
          response.#separator = ',';
        }
        yield;
      }
      if (response.#page.nextCursor !== undefined) return;
      json.text((response.#separator === ',' ? '' : response.#separator) + source.closing());
    };
  }

  /** Returns the next page's part, or null after the last. Throws the action's errors. */
  async next(call: RouteCall): Promise<Pieces | null> {
    const { nextCursor } = this.#page;
    if (nextCursor === undefined) return null;
    this.#page = await this.#source.read(call, nextCursor);
    return this.part();
  }
}

/** How a route sends the PagedResponse that it performs. */
export const SENT_IN_PAGES = {
  answer: (response: PagedResponse<{ nextCursor?: string }>) => response.part(),
  more: (response: PagedResponse<{ nextCursor?: string }>, call: RouteCall) => response.next(call),
  heldBytes: (response: PagedResponse<{ nextCursor?: string }>) => response.heldBytes,
};
