import { itemAt } from '../../lib/checked-access.ts';
import type { RowPage } from '../page.ts';

/** Rows that one request to the thread reads, in a few milliseconds. */
export const SLICE_ROWS = 100;

/** Reads rows in the order of their string keys, page by page; every key is greater than ''. */
export async function* pages<Row>(
  read: (after: string) => Promise<Row[]>,
  keyOf: (row: Row) => string,
  pageRows: number,
): AsyncIterable<Row[]> {
  for (let after = ''; ; ) {
    const page = await read(after);
    if (page.length > 0) yield page;
    if (page.length < pageRows) return;
    after = keyOf(itemAt(page, page.length - 1));
  }
}

/** Reads one page of a list in slices, between which the thread can serve other requests. */
export async function inSlices<Row, P>(
  read: (after: P | null, limit: number) => Promise<RowPage<Row, P>>,
  after: P | null,
  limit: number,
): Promise<RowPage<Row, P>> {
  const page = await read(after, Math.min(limit, SLICE_ROWS));
  while (page.next !== null && page.rows.length < limit) {
    const { rows, next } = await read(page.next, Math.min(limit - page.rows.length, SLICE_ROWS));
    page.rows.push(...rows);
    page.next = next;
  }
  return page;
}
