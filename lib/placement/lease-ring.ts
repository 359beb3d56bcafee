import { itemAt } from '../checked-access.ts';

/**
 * Decides which leases a node reads, and how often, so that a cluster of n nodes does not read n^2
 * rows per second.
 *
 * The number of rows that a node reads per second is bounded. A dead node is detected as fast as if
 * all nodes watched each other, unless all its watchers die with it.
 * See docs/internals/placement.md.
 */

const WATCHED = 3;
/** Average number of leases that a node reads per second to learn of all nodes. */
const ROWS_PER_SECOND = 20;
const LIST_MIN_MS = 1_000;

/**
 * Returns the leases that a node watches: those that follow its own in the ring. The caller passes
 * only leases of nodes not known to be dead.
 */
export function watchedLeases(own: string, incarnations: Iterable<string>): string[] {
  const isBefore = (a: string, b: string): boolean => (a > own === b > own ? a < b : a > own);
  const next: string[] = [];
  for (const incarnation of incarnations) {
    if (incarnation === own) continue;
    let at = next.length;
    while (at > 0 && isBefore(incarnation, itemAt(next, at - 1))) at--;
    if (at === WATCHED) continue;
    next.splice(at, 0, incarnation);
    if (next.length > WATCHED) next.pop();
  }
  return next;
}

/** Returns the time between two reads of all leases, for a cluster of `nodes` nodes. */
export function listEveryMs(nodes: number): number {
  return Math.max(LIST_MIN_MS, (nodes / ROWS_PER_SECOND) * 1_000);
}
