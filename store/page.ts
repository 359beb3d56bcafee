/** End of a page in creation order: its last row, which may have been removed since. */
export interface Position {
  createdAt: string;
  id: string;
}

/** Part of a list; `next` is null at its end. Rows without a valid seal are left out. */
export interface RowPage<Row, P = Position> {
  rows: Row[];
  next: P | null;
}

/** Rows per call when a whole list is read, so that other calls run in between. */
const LIST_PAGE_ROWS = 100;

/**
 * Returns a page of at most `limit` of `rows`; pass one row more than `limit` to show that more
 * follow.
 */
export function pageOf<Row, P>(rows: Row[], limit: number, positionOf: (row: Row) => P): RowPage<Row, P> {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: rows.length > limit && last !== undefined ? positionOf(last) : null };
}

export const positionOf = ({ createdAt, id }: Position): Position => ({ createdAt, id });

export async function allPages<Row, P>(
  read: (after: P | null, limit: number) => Promise<RowPage<Row, P>>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: P | null = null; ; ) {
    const page: RowPage<Row, P> = await read(after, LIST_PAGE_ROWS);
    rows.push(...page.rows);
    if (page.next === null) return rows;
    after = page.next;
  }
}
