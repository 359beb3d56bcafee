import type { UsageRow, WriteHold } from '../../lib/store/usage.ts';
import { type Allowance, passes } from './allowance.ts';

/** Records to be written, and by how many the stored vectors can grow. */
export interface WriteNeed {
  writes: number;
  vectors: number;
}

export interface WriteRequest {
  /** UUID that its hold gets; of one that has counted the ticket, which is that of its hold. */
  id: string;
  need: WriteNeed;
  /** How many of its records are written for certain: without a ticket `need` is an upper bound. */
  writesMin: number;
  allowance: Allowance;
  /** It has a ticket, and has counted exactly. */
  isCounted: boolean;
}

export type Decision =
  | { outcome: 'reserved' }
  | { outcome: 'count' }
  | { outcome: 'refused'; limit: 'writes' | 'vectors'; used: number }
  /**
   * It does not fit beside orphaned holds, of which the last that is in its way runs out after so
   * long.
   */
  | { outcome: 'uncertain'; forMs: number }
  /** Its ticket has run out, or is not known. */
  | { outcome: 'gone' };

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
  for (const hold of held.holds) add(upper, hold);
  const decisions: Decision[] = [];
  const orphans = orphansOf(held);
  for (const { id, need, writesMin, allowance } of requests) {
    const forMs = uncertainForMs(held, orphans, stored, { need, allowance }, holdsMax);
    if (held.alone !== null && forMs === null) break;
    if (passes(allowance.limits.writes, stored.writes, writesMin)) {
      // What is committed stays, so there is nothing to wait for.
      decisions.push({ outcome: 'refused', limit: 'writes', used: stored.writes });
    } else if (forMs !== null) {
      decisions.push({ outcome: 'uncertain', forMs });
    } else if (held.holds.length < holdsMax && fits(upper, { need, allowance })) {
      held.holds.push({ id, ...need, baseline: null, beat: 0 });
      add(upper, need);
      decisions.push({ outcome: 'reserved' });
    } else if (held.holds.length === 0) {
      held.holds.push({ id, ...need, baseline: stored.vectors, beat: 0 });
      held.alone = id;
      decisions.push({ outcome: 'count' });
    } else break;
  }
  return decisions;
}

/**
 * Decides a request that has counted. Its ticket becomes its reservation, or is ended where it is
 * refused. `before`: what was decided when nobody learned whether that was written.
 */
export function decideCounted(
  held: Held,
  stored: UsageRow,
  { id, need, allowance: { limits } }: WriteRequest,
  before: Decision | null,
): Decision {
  const hold = held.holds.find((other) => other.id === id);
  if (hold === undefined) return before?.outcome === 'refused' ? before : { outcome: 'gone' };
  if (hold.baseline === null) return before?.outcome === 'reserved' ? before : { outcome: 'gone' };
  const limit = (['writes', 'vectors'] as const).find((name) => passes(limits[name], stored[name], need[name]));
  if (limit !== undefined) {
    held.holds.splice(held.holds.indexOf(hold), 1);
    if (held.alone === id) held.alone = null;
    return { outcome: 'refused', limit, used: stored[limit] };
  }
  hold.beat++;
  const isSure = !passes(limits.vectors, hold.baseline, need.vectors);
  Object.assign(hold, isSure ? { ...need, baseline: null } : { baseline: stored.vectors });
  return { outcome: isSure ? 'reserved' : 'count' };
}

type Need = Pick<WriteRequest, 'need' | 'allowance'>;

function fits(used: Pick<UsageRow, 'writes' | 'vectors'>, { need, allowance: { limits } }: Need): boolean {
  return !passes(limits.writes, used.writes, need.writes) && !passes(limits.vectors, used.vectors, need.vectors);
}

function add(sum: Pick<UsageRow, 'writes' | 'vectors'>, { writes, vectors }: WriteNeed): void {
  sum.writes += writes;
  sum.vectors += vectors;
}

/** Orphaned holds, those that have most time left first. */
function orphansOf({ holds, orphaned }: Held): { hold: WriteHold; inMs: number }[] {
  const orphans = holds.flatMap((hold) => {
    const inMs = orphaned.get(hold.id);
    return inMs === undefined ? [] : [{ hold, inMs }];
  });
  return orphans.sort((one, other) => other.inMs - one.inMs);
}

/**
 * For how long a request has no room even if the living give back all that they hold; null when it
 * may have some.
 */
function uncertainForMs(
  { alone, orphaned }: Held,
  orphans: { hold: WriteHold; inMs: number }[],
  stored: UsageRow,
  request: Need,
  holdsMax: number,
): number | null {
  if (alone !== null) return orphaned.get(alone) ?? null;
  const used = { writes: stored.writes, vectors: stored.vectors };
  if (!fits(used, request)) return orphans[0]?.inMs ?? null;
  for (const [before, { hold, inMs }] of orphans.entries()) {
    add(used, hold);
    if (before + 1 >= holdsMax || !fits(used, request)) return inMs;
  }
  return null;
}
