/**
 * The slots that one more collection of an account may take, under a limit of `max`. `taken` has
 * the slot number of every live collection, null for those that were created when there was no
 * limit.
 *
 * Each of the slots 0..k-1 holds one collection. Collections elsewhere (without a number, or with
 * one of a time when the limit was higher) count against the limit too, so k is the largest number
 * for which k and those outside of 0..k-1 make no more than `max`. Whoever saw fewer of them has a
 * larger k; but a smaller set of slots is always part of a larger, so nobody's choice makes room
 * for one too many.
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
