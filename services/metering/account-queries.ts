import { getOrThrow } from '../../lib/checked-access.ts';
import type { AccountId } from '../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { CounterAges } from '../../lib/time/counter-ages.ts';
import type { QueriesTaken, QueryBlock } from '../../store/usage.ts';
import type { Allowance } from './allowance.ts';

/** Queries reserved in advance. */
interface LocalBlock {
  id: string;
  /** A block belongs to one month; unused queries do not carry over. */
  month: string;
  /** The plan limit when it was granted; null for none. */
  limit: number | null;
  granted: number;
  /** Negative if more queries were returned than taken. */
  used: number;
}

/** Failed queries of a month whose block is closed, minus those that a full disk left uncounted. */
export interface Credit {
  /** Id of the block that transfers the credit to the store. */
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

/** An instance's state of an account's queries. */
export class AccountQueries {
  readonly id: AccountId;
  block: LocalBlock | null = null;
  /** Blocks still to be closed in the store, by id. */
  readonly closing = new Map<string, Pick<LocalBlock, 'month' | 'used'>>();
  /** By month. */
  readonly credits = new Map<string, Credit>();
  waiting: QueryWaiter[] = [];
  refilling = false;
  /** Open blocks of other instances, seen when no queries were left. */
  readonly foreign: CounterAges;
  /** Settles when the last requested store operation has ended. */
  tail: Promise<unknown> = Promise.resolve();
  operations = 0;
  lastTakenMs: number;
  /** Queries taken since the last tick, and in the second before it. */
  taken = 0;
  takenBefore = 0;

  constructor(id: AccountId, monotonicMs: () => number) {
    this.id = id;
    this.foreign = new CounterAges(monotonicMs);
    this.lastTakenMs = monotonicMs();
  }
}

/**
 * Returns how many queries to reserve in advance: as many as were taken recently, but at most a
 * sixteenth of `remaining` (null: no limit), so that a crash near a limit loses little.
 */
export function reserveSize({ taken, takenBefore }: AccountQueries, remaining: number | null): number {
  const max =
    remaining === null
      ? INTERNAL_LIMITS.queryBlockUnlimitedMax
      : Math.min(INTERNAL_LIMITS.queryBlockMax, Math.floor(remaining / 16));
  return Math.max(0, Math.min(max, taken + takenBefore));
}

/** Returns how many of the counted queries are used, and the blocks of other instances. */
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
  for (const { id, granted } of blocks) unused += ours.has(id) ? granted - getOrThrow(ours, id) : 0;
  return { queries: Math.max(0, queries - unused), foreign: blocks.filter(({ id }) => !ours.has(id)) };
}

/** Stops using the account's block and schedules it to be closed in the store. */
export function retireBlock(account: AccountQueries): void {
  const { block } = account;
  account.block = null;
  if (block !== null) account.closing.set(block.id, block);
}

/** Whether the store is up to date. */
export function isWritten({ credits, closing }: AccountQueries): boolean {
  return credits.size === 0 && closing.size === 0;
}
