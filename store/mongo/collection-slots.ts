/**
 * Returns the free slots of an account under a limit of `max` collections. `taken` has the slot
 * number of every live collection, null for those created without a limit.
 *
 * Each of the slots 0..k-1 holds at most one collection. Collections without a slot, or with one
 * from a time of a higher limit, also count against the limit, so k is the largest number for which
 * k plus the collections outside 0..k-1 is at most `max`. A creator with an outdated view may
 * compute a larger k. That is safe: the smaller set of slots is always part of the larger one, so
 * the limit still holds.
 */
export function freeSlots(taken: (number | null)[], max: number): number[] {
  let slots = max;
  for (;;) {
    const outside = taken.filter((slot) => slot === null || slot >= slots).length;
    if (slots + outside <= max) break;
    slots = max - outside;
    if (slots <= 0) return [];
  }
  const used = new Set(taken);
  return Array.from({ length: slots }, (_, slot) => slot).filter((slot) => !used.has(slot));
}
