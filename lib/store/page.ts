/** Where a page of rows in the order of creation ends: its last row, which may be gone since. */
export interface Position {
  createdAt: string;
  id: string;
}

/** Part of a list; `next` is null at its end. Rows that are not believed are left out of it. */
export interface Page<Row, P = Position> {
  rows: Row[];
  next: P | null;
}

/** Rows that a list reads with one call of the store: it gives others a turn in between. */
const LISTED_AT_ONCE = 100;

/** A page of at most `limit` of `rows`, which has one more where there are more. */
export function pageOf<Row, P>(rows: Row[], limit: number, positionOf: (row: Row) => P): Page<Row, P> {
  const page = rows.slice(0, limit);
  return { rows: page, next: rows.length > limit ? positionOf(page[page.length - 1]) : null };
}

/** Where a row stands in the order of creation. */
export const positionOf = ({ createdAt, id }: Position): Position => ({ createdAt, id });

/** All rows of a list, read page by page. */
export async function allPages<Row, P>(
  read: (after: P | null, limit: number) => Promise<Page<Row, P>>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: P | null = null; ; ) {
    const page: Page<Row, P> = await read(after, LISTED_AT_ONCE);
    rows.push(...page.rows);
    if (page.next === null) return rows;
    after = page.next;
  }
}
