import { cosine, type Dataset, exactTop } from './dataset.ts';

/** Score difference below which two rows count as equal (near-duplicates). */
const TIE = 1e-5;

/**
 * Returns the recall of the answers to the first queries: the share of the exact `k` best rows,
 * among those that `allowed` accepts, whose exact score an answer reaches. 1 when no row is
 * accepted.
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
