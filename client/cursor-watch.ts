import { ServerError } from './http/errors.ts';

/** Status of every page. */
const OK = 200;

/**
 * Detects a cycle of cursors by Brent's algorithm: it remembers one cursor, and a newer one after
 * ever more pages. It reads at most the pages before the cycle and three times its length.
 */
export class CursorWatch {
  #kept: string | undefined;
  #sinceKept = 0;
  #keepFor = 1;

  /** Throws a ServerError for the remembered cursor. */
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
