import { invalidArgument, type ProvecError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { readCursor, writeCursor } from './page-cursor.ts';

const POSITION = /^after (.*)$/s;

/** The cursor of a page that ends with this id, or this namespace. */
export const cursorAfter = (name: string): string => writeCursor(`after ${name}`);

/** After the longest id or namespace that there may be, whatever new ones are limited to. */
export const LISTING_CURSOR_MAX_CHARS = cursorAfter('x'.repeat(LIMITS.idMaxBytes)).length;

/** That name. Throws INVALID_ARGUMENT for what `cursorAfter` did not write. */
export function nameOfCursor(cursor: unknown): string {
  const [name] = readCursor(cursor, POSITION, LISTING_CURSOR_MAX_CHARS);
  // What is not base64url, or not UTF-8 in it, is read as something else.
  if (cursorAfter(name) !== cursor) throw notACursor(cursor);
  return name;
}

/** As `nameOfCursor`; no id is empty. */
export function idOfCursor(cursor: unknown): string {
  const id = nameOfCursor(cursor);
  if (id === '') throw notACursor(cursor);
  return id;
}

const notACursor = (given: unknown): ProvecError =>
  invalidArgument('cursor', 'the nextCursor of an earlier page', given);
