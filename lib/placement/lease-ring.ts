/**
 * Which leases a node reads, and how often: in a cluster of n nodes not n^2 rows each second.
 *
 * Promises: the rows that a node reads each second are bounded. A death is found as soon as if
 * everybody watched everybody, unless all watchers of a node die with it.
 * See docs/internals/placement.md.
 */

const WATCHED = 3;
/** A node reads this many leases a second to know all. */
const ROWS_PER_SECOND = 20;
const LIST_MIN_MS = 1_000;

/**
 * The leases that a node watches of those that are not known to be dead: the next ones after its
 * own, all of them where they are few.
 */
export function watchedLeases(own: string, incarnations: Iterable<string>): string[] {
  const isBefore = (a: string, b: string): boolean => (a > own === b > own ? a < b : a > own);
  const next: string[] = [];
  for (const incarnation of incarnations) {
    if (incarnation === own) continue;
    let at = next.length;
    while (at > 0 && isBefore(incarnation, next[at - 1]!)) at--;
    if (at === WATCHED) continue;
    next.splice(at, 0, incarnation);
    if (next.length > WATCHED) next.pop();
  }
  return next;
}

/** Time between two readings of all leases, for a cluster of that many nodes. */
export function listEveryMs(nodes: number): number {
  return Math.max(LIST_MIN_MS, (nodes / ROWS_PER_SECOND) * 1_000);
}
