/**
 * The entries that follow `afterSeq` one by one: what comes after a gap belongs to no state that
 * can be known.
 */
export function runAfter<E extends { seq: number }>(entries: E[], afterSeq: number): E[] {
  const end = entries.findIndex(({ seq }, at) => seq !== afterSeq + 1 + at);
  return end < 0 ? entries : entries.slice(0, end);
}
