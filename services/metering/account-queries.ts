import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { QueriesTaken, QueryBlock } from '../../lib/store/usage.ts';
import { Sightings } from '../../lib/time/sightings.ts';
import type { Allowance } from './allowance.ts';

/** Queries taken beforehand. */
interface Block {
  id: string;
  /** A block belongs to its month: what is left of it is worth nothing in the next one. */
  month: string;
  /** The limit it was granted under; null for none. */
  limit: number | null;
  granted: number;
  /** Below 0 where more came back than were drawn. */
  used: number;
}

/** Failed queries of a month whose block is closed, less those that a full disk left uncounted. */
export interface Credit {
  /** Of the block that brings it to the store. */
  id: string;
  count: number;
}

/** Queries of one request that wait for a block. */
export interface QueryWaiter {
  count: number;
  allowance: Allowance;
  resolve(taken: { month: string }): void;
  reject(error: unknown): void;
}

/** What one instance knows of an account's queries. */
export class AccountQueries {
  readonly id: string;
  block: Block | null = null;
  /** Blocks that the store is still to close, by id. */
  readonly closing = new Map<string, Pick<Block, 'month' | 'used'>>();
  /** By month. */
  readonly credits = new Map<string, Credit>();
  waiting: QueryWaiter[] = [];
  refilling = false;
  /** Open blocks of others that were found where nothing was left. */
  readonly foreign: Sightings;
  /** Settles when the last store operation asked for has ended. */
  tail: Promise<unknown> = Promise.resolve();
  operations = 0;
  lastTakenMs: number;
  /** Taken since the last tick, and in the second before it. */
  taken = 0;
  takenBefore = 0;

  /** `monotonicMs`: monotonic. */
  constructor(id: string, monotonicMs: () => number) {
    this.id = id;
    this.foreign = new Sightings(monotonicMs);
    this.lastTakenMs = monotonicMs();
  }
}

/**
 * How many to take beforehand: as many as were taken lately, and of what `remaining` says is left
 * (null: no limit) a sixteenth, so that a crash near a limit costs little.
 */
export function spare({ taken, takenBefore }: AccountQueries, remaining: number | null): number {
  const max =
    remaining === null
      ? INTERNAL_LIMITS.queryBlockUnlimitedMax
      : Math.min(INTERNAL_LIMITS.queryBlockMax, Math.floor(remaining / 16));
  return Math.max(0, Math.min(max, taken + takenBefore));
}

/** How many are used of the queries that the store says are taken, and the blocks of others. */
export function usedOf(
  { block, closing, credits }: AccountQueries,
  month: string,
  { queries, blocks }: QueriesTaken,
): { queries: number; foreign: QueryBlock[] } {
  const credit = credits.get(month);
  const ours = new Map<string, number>();
  for (const [id, { used }] of closing) ours.set(id, used);
  if (block !== null) ours.set(block.id, block.used);
  if (credit !== undefined) ours.set(credit.id, 0);
  let unused = credit?.count ?? 0;
  for (const { id, granted } of blocks) unused += ours.has(id) ? granted - ours.get(id)! : 0;
  return { queries: Math.max(0, queries - unused), foreign: blocks.filter(({ id }) => !ours.has(id)) };
}

/** Uses no more of the block; the store is still to close it. */
export function dissolve(account: AccountQueries): void {
  const { block } = account;
  account.block = null;
  if (block !== null) account.closing.set(block.id, block);
}

/** Whether the store knows all that there is to know. */
export function isWritten({ credits, closing }: AccountQueries): boolean {
  return credits.size === 0 && closing.size === 0;
}
