/** Reads rows in the order of their text keys, page by page; every key is greater than ''. */
export async function* pages<Row>(
  read: (after: string) => Promise<Row[]>,
  keyOf: (row: Row) => string,
  pageRows: number,
): AsyncIterable<Row[]> {
  for (let after = ''; ; ) {
    const page = await read(after);
    if (page.length > 0) yield page;
    if (page.length < pageRows) return;
    after = keyOf(page[page.length - 1]);
  }
}
