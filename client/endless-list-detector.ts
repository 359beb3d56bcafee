import { ServerError } from './http/errors.ts';

/** HTTP status of every page. */
const OK = 200;
/** Maximum number of empty pages in a row. */
const EMPTY_PAGES_MAX = 1_000;

/**
 * Detects a list that never ends: its cursors form a cycle, or its pages stay empty. Finds cycles
 * with Brent's algorithm. It keeps one cursor and replaces it after 1, 2, 4, 8, ... pages. The
 * caller reads at most the pages before the cycle and three times the cycle's length.
 */
export class EndlessListDetector {
  #kept: string | undefined;
  #sinceKept = 0;
  #keepFor = 1;
  #emptyPages = 0;

  /**
   * Checks a page that is not the last, given its number of items and its `nextCursor`. Throws a
   * ServerError if the list does not end.
   */
  assertProgress(items: number, cursor: string): void {
    if (cursor === this.#kept) throw endless('The pages of this list form a cycle: the same nextCursor came twice.');
    this.#emptyPages = items > 0 ? 0 : this.#emptyPages + 1;
    if (this.#emptyPages >= EMPTY_PAGES_MAX)
      throw endless(`This list does not end: ${EMPTY_PAGES_MAX} pages in a row are empty.`);
    if (++this.#sinceKept < this.#keepFor) return;
    this.#kept = cursor;
    this.#sinceKept = 0;
    this.#keepFor *= 2;
  }
}

const endless = (error: string): ServerError => new ServerError({ error, status: OK });
