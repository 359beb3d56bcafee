import { ServerError } from './http/errors.ts';

/** HTTP status of every page. */
const OK = 200;

/**
 * Detects a cycle of cursors with Brent's algorithm. It keeps one cursor and replaces it after 1,
 * 2, 4, 8, ... pages. The caller reads at most the pages before the cycle and three times the
 * cycle's length.
 */
export class CursorCycleDetector {
  #kept: string | undefined;
  #sinceKept = 0;
  #keepFor = 1;

  /** Throws a ServerError if the cursor equals the one kept. */
  assertNew(cursor: string): void {
    if (cursor === this.#kept) {
      const error = 'The pages of this list form a cycle: the same nextCursor came twice.';
      throw new ServerError({ error, status: OK });
    }
    if (++this.#sinceKept < this.#keepFor) return;
    this.#kept = cursor;
    this.#sinceKept = 0;
    this.#keepFor *= 2;
  }
}
