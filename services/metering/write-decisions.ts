import type { UsageRow, WriteHold } from '../../lib/store/usage.ts';
import { type Allowance, passes } from './allowance.ts';

/** Records to be written, and by how many the stored vectors can grow. */
export interface WriteNeed {
  writes: number;
  vectors: number;
}

export interface WriteRequest {
  /** UUID that its hold gets. */
  id: string;
  need: WriteNeed;
  allowance: Allowance;
}

export type Decision =
  | { outcome: 'reserved' }
  | { outcome: 'count' }
  | { outcome: 'refused'; limit: 'writes'; used: number };

/** Decides requests in their order, as far as they can be; the holds that come of it are added to `holds`, a ticket as `alone`. */
export function decideWrites(
  held: { holds: WriteHold[]; alone: string | null },
  stored: UsageRow,
  requests: WriteRequest[],
  holdsMax: number,
): Decision[] {
  const upper = { writes: stored.writes, vectors: stored.vectors };
  for (const hold of held.holds) {
    upper.writes += hold.writes;
    upper.vectors += hold.vectors;
  }
  const decisions: Decision[] = [];
  for (const { id, need, allowance } of requests) {
    if (held.alone !== null) break;
    const { writes, vectors } = allowance.limits;
    const fits = !passes(writes, upper.writes, need.writes) && !passes(vectors, upper.vectors, need.vectors);
    if (passes(writes, stored.writes, need.writes)) {
      // What is committed stays, so there is nothing to wait for.
      decisions.push({ outcome: 'refused', limit: 'writes', used: stored.writes });
    } else if (fits && held.holds.length < holdsMax) {
      held.holds.push({ id, ...need, baseline: null, beat: 0 });
      upper.writes += need.writes;
      upper.vectors += need.vectors;
      decisions.push({ outcome: 'reserved' });
    } else if (held.holds.length === 0) {
      held.holds.push({ id, ...need, baseline: stored.vectors, beat: 0 });
      held.alone = id;
      decisions.push({ outcome: 'count' });
    } else break;
  }
  return decisions;
}
