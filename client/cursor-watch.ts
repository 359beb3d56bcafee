import { ServerError } from './http/errors.ts';

/** Status of every page. */
const OK = 200;

/**
 * Notices cursors that come in a circle. It keeps one of them, after ever more pages another
 * (Brent's algorithm): a circle ends after three times its length and the pages before it.
 */
export class CursorWatch {
  #kept: string | undefined;
  #sinceKept = 0;
  #keepFor = 1;

  /** Throws a ServerError for the cursor that it keeps. */
  assertNew(cursor: string): void {
    if (cursor === this.#kept) {
      const error = 'The pages of this list come in a circle: a nextCursor came twice.';
      throw new ServerError({ error, status: OK });
    }
    if (++this.#sinceKept < this.#keepFor) return;
    this.#kept = cursor;
    this.#sinceKept = 0;
    this.#keepFor *= 2;
  }
}
