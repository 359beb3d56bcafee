import { invalidArgument } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { readCursor, writeCursor } from './page-cursor.ts';

const POSITION = /^after (.+)$/s;

/** The cursor of a page of records that ends with this id. */
export const cursorAfter = (id: string): string => writeCursor(`after ${id}`);

/** After the longest id that a record may have, whatever new ids are limited to. */
export const LISTING_CURSOR_MAX_CHARS = cursorAfter('x'.repeat(LIMITS.idMaxBytes)).length;

/** That id. Throws INVALID_ARGUMENT for what `cursorAfter` did not write. */
export function idOfCursor(cursor: unknown): string {
  const [id] = readCursor(cursor, POSITION, LISTING_CURSOR_MAX_CHARS);
  // What is not base64url, or not UTF-8 in it, is read as something else.
  if (cursorAfter(id) !== cursor) throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor);
  return id;
}
