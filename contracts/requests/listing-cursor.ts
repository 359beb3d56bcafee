import { invalidArgument, type ProvecError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { STORED_ID_MAX_BYTES } from '../../lib/records/namespace.ts';
import { readCursor, writeCursor } from './page-cursor.ts';

const POSITION = /^after (?<name>.*)$/s;
const STORED_POSITION = /^stored after (?<stored>.*)$/s;

/** Returns the cursor of a page that ends with this id or namespace. */
export const cursorAfter = (name: string): string => writeCursor(`after ${name}`);

/** Returns the cursor of a page of all namespaces that ends with this stored id. */
export const cursorAfterStored = (stored: string): string => writeCursor(`stored after ${stored}`);

/** Length for the longest id or namespace that can exist, even if PROVEC_LIMITS now allows less. */
export const LISTING_CURSOR_MAX_CHARS = cursorAfter('x'.repeat(LIMITS.idMaxBytes)).length;
/** Length for the longest stored id. */
export const STORED_CURSOR_MAX_CHARS = cursorAfterStored('x'.repeat(STORED_ID_MAX_BYTES)).length;

/** Inverse of `cursorAfter`. Throws INVALID_ARGUMENT for any other cursor. */
export function nameOfCursor(cursor: unknown): string {
  const { name } = readCursor<'name'>(cursor, POSITION, LISTING_CURSOR_MAX_CHARS);
  // Node decodes invalid base64url and UTF-8 without an error, so compare the result.
  if (cursorAfter(name) !== cursor) throw notACursor(cursor);
  return name;
}

/** Same as `nameOfCursor`, but the name is an id and not empty. */
export function idOfCursor(cursor: unknown): string {
  const id = nameOfCursor(cursor);
  if (id === '') throw notACursor(cursor);
  return id;
}

/** Returns the stored id. Throws INVALID_ARGUMENT for any cursor not from `cursorAfterStored`. */
export function storedIdOfCursor(cursor: unknown): string {
  const { stored } = readCursor<'stored'>(cursor, STORED_POSITION, STORED_CURSOR_MAX_CHARS);
  if (stored === '' || cursorAfterStored(stored) !== cursor) throw notACursor(cursor);
  return stored;
}

/** Throws INVALID_ARGUMENT for a value that is not a cursor of any listing. */
export function checkListingCursor(cursor: unknown): void {
  const isText = typeof cursor === 'string' && cursor.length <= STORED_CURSOR_MAX_CHARS;
  const isOfAll = isText && STORED_POSITION.test(Buffer.from(cursor, 'base64url').toString());
  if (isOfAll) storedIdOfCursor(cursor);
  else idOfCursor(cursor);
}

const notACursor = (given: unknown): ProvecError =>
  invalidArgument('cursor', 'the nextCursor of an earlier page', given);
