import type { AccountWriteHold, UsageRow } from '../../store/usage.ts';
import { type Allowance, passes } from './allowance.ts';

/** Number of records to write, and by how many the stored vectors can grow. */
export interface WriteNeed {
  writes: number;
  vectors: number;
}

export interface WriteRequest {
  /** UUID for its hold; a request with a ticket has the ticket's, which is its hold's id. */
  id: string;
  need: WriteNeed;
  /** Number of records that it certainly writes. Without a ticket, `need` is an upper bound. */
  writesMin: number;
  allowance: Allowance;
  /** Whether it has a ticket, so that `need` is exact. */
  isCounted: boolean;
}

export type Decision =
  | { outcome: 'reserved' }
  | { outcome: 'count' }
  | { outcome: 'refused'; limit: 'writes' | 'vectors'; used: number }
  /**
   * It does not fit beside orphaned holds. `forMs`: time until the last hold that blocks it
   * expires.
   */
  | { outcome: 'uncertain'; forMs: number }
  /** Its ticket has expired or is unknown. */
  | { outcome: 'gone' };

/** An account's holds. `orphaned`: remaining ms of each hold whose holder has stopped renewing. */
export interface AccountHolds {
  holds: AccountWriteHold[];
  alone: string | null;
  orphaned: ReadonlyMap<string, number>;
}

/** Decides requests in order, as far as possible. Adds to `holds`; a ticket becomes `alone`. */
export function decideWrites(
  held: AccountHolds,
  stored: UsageRow,
  requests: WriteRequest[],
  holdsMax: number,
): Decision[] {
  const upper = { writes: stored.writes, vectors: stored.vectors };
  for (const hold of held.holds) add(upper, hold);
  const decisions: Decision[] = [];
  const orphans = orphansOf(held);
  for (const { id, need, writesMin, allowance } of requests) {
    const forMs = blockedForMs(held, orphans, stored, { need, allowance }, holdsMax);
    if (held.alone !== null && forMs === null) break;
    if (passes(allowance.limits.writes, stored.writes, writesMin)) {
      // Committed writes stay, so waiting would not help.
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
 * Decides a request with a ticket, which becomes its reservation or ends. `before`: the earlier
 * decision, if it is unknown whether the store recorded it.
 */
export function decideCounted(
  held: AccountHolds,
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

/** Returns orphaned holds, those with the most time left first. */
function orphansOf({ holds, orphaned }: AccountHolds): { hold: AccountWriteHold; inMs: number }[] {
  const orphans = holds.flatMap((hold) => {
    const inMs = orphaned.get(hold.id);
    return inMs === undefined ? [] : [{ hold, inMs }];
  });
  return orphans.sort((one, other) => other.inMs - one.inMs);
}

/** Returns for how many ms orphaned holds alone block a request; null if they do not. */
function blockedForMs(
  { alone, orphaned }: AccountHolds,
  orphans: { hold: AccountWriteHold; inMs: number }[],
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
