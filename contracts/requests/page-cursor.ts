import { invalidArgument } from '../../lib/errors.ts';

export const CURSOR_MAX_CHARS = 512;

/** Encodes the position where the next page begins as a `nextCursor`, opaque to clients. */
export function writeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

/** Returns the groups of `position` in a cursor. Throws INVALID_ARGUMENT if it is invalid. */
export function readCursor(cursor: unknown, position: RegExp, maxChars = CURSOR_MAX_CHARS): string[] {
  const isText = typeof cursor === 'string' && cursor.length <= maxChars;
  const found = isText ? position.exec(Buffer.from(cursor, 'base64url').toString()) : null;
  if (found === null) throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor);
  return found.slice(1);
}
