import type { BlockUse } from '../../lib/actions/metering.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/runtime.ts';
import type { QueryBlock } from '../../lib/store/usage.ts';
import type { Allowance } from './allowance.ts';
import type { ReturnedQueries } from './returned-queries.ts';
import { Sightings } from './sightings.ts';

/** Queries taken beforehand. */
export interface Block {
  id: string;
  /** A block belongs to its month: what is left of it is worth nothing in the next one. */
  month: string;
  /** The limit it was granted under; null for none. */
  limit: number | null;
  granted: number;
  used: number;
}

/** A query that waits for a block. */
export interface QueryWaiter {
  allowance: Allowance;
  resolve(taken: { month: string }): void;
  reject(error: unknown): void;
}

/** What one instance knows of an account's queries. */
export interface AccountQueries {
  block: Block | null;
  /** Blocks that the store is still to close. */
  closing: Map<string, Pick<Block, 'id' | 'month' | 'used'>>;
  returned: ReturnedQueries;
  waiting: QueryWaiter[];
  refilling: boolean;
  /** Open blocks of others that were found where nothing was left. */
  foreign: Sightings;
  /** Settles when the last store operation asked for has ended. */
  tail: Promise<unknown>;
  operations: number;
  lastTakenMs: number;
  /** Taken since the last tick, and in the second before it. */
  taken: number;
  takenBefore: number;
}

export function newAccountQueries(clock: Pick<Clock, 'monotonicMs'>, returned: ReturnedQueries): AccountQueries {
  return {
    block: null,
    closing: new Map(),
    returned,
    waiting: [],
    refilling: false,
    foreign: new Sightings(() => clock.monotonicMs()),
    tail: Promise.resolve(),
    operations: 0,
    lastTakenMs: clock.monotonicMs(),
    taken: 0,
    takenBefore: 0,
  };
}

/**
 * How many to take beforehand: as many as were taken lately, and of what `remaining` says is left
 * (null: no limit) a sixteenth, so that many instances near a limit do not hold back from each
 * other what one needs.
 */
export function spare({ taken, takenBefore }: AccountQueries, remaining: number | null): number {
  const lately = taken + takenBefore;
  if (remaining === null) return Math.min(INTERNAL_LIMITS.queryBlockUnlimitedMax, lately);
  return Math.max(0, Math.min(INTERNAL_LIMITS.queryBlockMax, lately, Math.floor(remaining / 16)));
}

/** Whether all that was found has been called back already, in vain. */
export function isAsked(open: QueryBlock[], asked: ReadonlySet<string>): boolean {
  return open.length > 0 && open.every(({ id }) => asked.has(id));
}

/** What an instance has used of its blocks that the store may have open. */
export function usesOf({ block, closing }: AccountQueries): BlockUse[] {
  return [...(block === null ? [] : [block]), ...closing.values()].map(({ id, used }) => ({ id, used }));
}

/**
 * How many queries of the blocks that are `open` are not used, and of how many nobody knows.
 * `before`: those open before the `uses` were asked for.
 */
export function inUse(
  open: QueryBlock[],
  before: QueryBlock[],
  uses: BlockUse[],
): { unused: number; uncertain: number } {
  const known = new Map(uses.map(({ id, used }) => [id, used]));
  const old = new Set(before.map(({ id }) => id));
  const sum = { unused: 0, uncertain: 0 };
  for (const { id, granted } of open) {
    // What is newer than the answers was drawn from after they were asked for.
    const used = known.get(id) ?? (old.has(id) ? null : 0);
    if (used === null) sum.uncertain += granted;
    else sum.unused += granted - used;
  }
  return sum;
}

/** Uses no more of the block; the store is still to close it. */
export function dissolve(account: AccountQueries): void {
  const { block } = account;
  account.block = null;
  if (block !== null) account.closing.set(block.id, block);
}
