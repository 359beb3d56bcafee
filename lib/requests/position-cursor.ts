import type { Position } from '../store/page.ts';
import { readCursor, writeCursor } from './page-cursor.ts';

const POSITION = /^after (\S{1,40}) (\S{1,64})$/;

/** The cursor of a page, in the order of creation, that ends there; undefined at the list's end. */
export function positionCursor(position: Position | null): { nextCursor?: string } {
  return position === null ? {} : { nextCursor: writeCursor(`after ${position.createdAt} ${position.id}`) };
}

/** Null without a cursor. Throws INVALID_ARGUMENT for what `positionCursor` did not write. */
export function positionOfCursor(cursor: string | undefined): Position | null {
  if (cursor === undefined) return null;
  const [createdAt, id] = readCursor(cursor, POSITION);
  return { createdAt, id };
}
