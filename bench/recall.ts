import { cosine, type Dataset, exactTop } from './dataset.ts';

/** Near-duplicates differ by less. */
const TIE = 1e-5;

/**
 * The share of the exact `k` best, among the rows that `allowed` lets through, that the answers to
 * the first queries reach: an id counts by its exact score. 1 where no row is let through.
 */
export function recallOf(
  data: Dataset,
  answers: string[][],
  k: number,
  allowed: (row: number) => boolean = () => true,
): number {
  const rows = new Map(data.ids.map((id, row) => [id, row]));
  let found = 0;
  let wanted = 0;
  for (const [at, ids] of answers.entries()) {
    const query = data.queries[at]!;
    const exact = exactTop(data, query, k, allowed);
    const worst = (exact.at(-1)?.score ?? 0) - TIE;
    wanted += exact.length;
    found += ids.filter((id) => cosine(data, query, rows.get(id)!) >= worst).length;
  }
  return wanted === 0 ? 1 : found / wanted;
}
