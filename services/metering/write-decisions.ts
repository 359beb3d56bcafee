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
  | { outcome: 'refused'; limit: 'writes'; used: number }
  /**
   * It does not fit beside orphaned holds, of which the last that is in its way runs out after so
   * long.
   */
  | { outcome: 'uncertain'; forMs: number };

/**
 * What is held, and how many milliseconds are left to each hold that is orphaned: nothing is heard
 * of its holder.
 */
export interface Held {
  holds: WriteHold[];
  alone: string | null;
  orphaned: ReadonlyMap<string, number>;
}

/**
 * Decides requests in their order, as far as they can be; the holds that come of it are added to
 * `holds`, a ticket as `alone`.
 */
export function decideWrites(held: Held, stored: UsageRow, requests: WriteRequest[], holdsMax: number): Decision[] {
  const upper = { writes: stored.writes, vectors: stored.vectors };
  for (const hold of held.holds) {
    upper.writes += hold.writes;
    upper.vectors += hold.vectors;
  }
  const decisions: Decision[] = [];
  const stages = stagesOf(held, stored);
  for (const { id, need, allowance } of requests) {
    const forMs = uncertainForMs(held, stages, { need, allowance }, holdsMax);
    if (held.alone !== null && forMs === null) break;
    if (passes(allowance.limits.writes, stored.writes, need.writes)) {
      // What is committed stays, so there is nothing to wait for.
      decisions.push({ outcome: 'refused', limit: 'writes', used: stored.writes });
    } else if (forMs !== null) {
      decisions.push({ outcome: 'uncertain', forMs });
    } else if (held.holds.length < holdsMax && fits(upper, { need, allowance })) {
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

type Need = Pick<WriteRequest, 'need' | 'allowance'>;

/** What is committed or held by orphaned holds, at a time when so many of them are left. */
interface Stage {
  writes: number;
  vectors: number;
  holds: number;
  /** Null: now. */
  inMs: number | null;
}

function fits(used: Pick<UsageRow, 'writes' | 'vectors'>, { need, allowance: { limits } }: Need): boolean {
  return !passes(limits.writes, used.writes, need.writes) && !passes(limits.vectors, used.vectors, need.vectors);
}

/** From now on until the last orphaned hold has run out. */
function stagesOf({ holds, orphaned }: Held, { writes, vectors }: UsageRow): Stage[] {
  const inMs = ({ id }: WriteHold): number => orphaned.get(id)!;
  const left = holds.filter(({ id }) => orphaned.has(id)).sort((one, other) => inMs(other) - inMs(one));
  const stages: Stage[] = [];
  const used = { writes, vectors };
  for (const [held, hold] of left.entries()) {
    stages.push({ ...used, holds: held, inMs: inMs(hold) });
    used.writes += hold.writes;
    used.vectors += hold.vectors;
  }
  return [...stages, { ...used, holds: left.length, inMs: null }].reverse();
}

/**
 * For how long a request has no room even if the living give back all that they hold; null when it
 * may have some.
 */
function uncertainForMs({ alone, orphaned }: Held, stages: Stage[], request: Need, holdsMax: number): number | null {
  if (alone !== null) return orphaned.get(alone) ?? null;
  return (stages.find((stage) => stage.holds < holdsMax && fits(stage, request)) ?? stages.at(-1)!).inMs;
}
