import { invalidArgument } from '../../lib/errors.ts';
import type { Position } from '../../store/page.ts';

export const CURSOR_MAX_CHARS = 512;
const POSITION = /^after (?<createdAt>\S{1,40}) (?<id>\S{1,64})$/;

/** Encodes the position where the next page begins as a `nextCursor`, opaque to clients. */
export function writeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

/** Returns the named groups of `position` in a cursor. Throws INVALID_ARGUMENT if it is invalid. */
export function readCursor<N extends string = never>(
  cursor: unknown,
  position: RegExp,
  maxChars = CURSOR_MAX_CHARS,
): Record<N, string> {
  const isText = typeof cursor === 'string' && cursor.length <= maxChars;
  const found = isText ? position.exec(Buffer.from(cursor, 'base64url').toString()) : null;
  if (found === null) throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor);
  return found.groups as Record<N, string>;
}

/** Returns the `nextCursor` of a page that ends at `position`; null is the end of the list. */
export function positionCursor(position: Position | null): { nextCursor?: string } {
  return position === null ? {} : { nextCursor: writeCursor(`after ${position.createdAt} ${position.id}`) };
}

/** Inverse of `positionCursor`; null without a cursor. Throws INVALID_ARGUMENT. */
export function positionOfCursor(cursor: string | undefined): Position | null {
  if (cursor === undefined) return null;
  return { ...readCursor<keyof Position>(cursor, POSITION) };
}
