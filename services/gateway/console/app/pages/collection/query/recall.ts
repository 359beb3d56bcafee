interface Scored {
  score: number;
}

/**
 * Returns the share of the best matches that the index found. Matches with equal scores count as
 * found whichever of them it returned.
 */
export function recallOf(found: readonly Scored[], exact: readonly Scored[]): { hits: number; share: number } {
  const lowest = exact.at(-1)?.score ?? Number.NEGATIVE_INFINITY;
  const hits = found.filter(({ score }) => score >= lowest).length;
  return { hits, share: exact.length === 0 ? 1 : hits / exact.length };
}
