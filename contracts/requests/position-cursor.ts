import type { Position } from '../../store/page.ts';
import { readCursor, writeCursor } from './page-cursor.ts';

const POSITION = /^after (?<createdAt>\S{1,40}) (?<id>\S{1,64})$/;

/** Returns the `nextCursor` of a page that ends at `position`; null is the end of the list. */
export function positionCursor(position: Position | null): { nextCursor?: string } {
  return position === null ? {} : { nextCursor: writeCursor(`after ${position.createdAt} ${position.id}`) };
}

/** Inverse of `positionCursor`; null without a cursor. Throws INVALID_ARGUMENT. */
export function positionOfCursor(cursor: string | undefined): Position | null {
  if (cursor === undefined) return null;
  return { ...readCursor<keyof Position>(cursor, POSITION) };
}
