import type { AccountId } from '../lib/ids.ts';

/**
 * Usage of one account: writes and queries of one UTC month, and the vectors stored now. `queries`
 * includes every open block in full.
 */
export interface UsageRow {
  writes: number;
  queries: number;
  vectors: number;
}

/** Days of which the store keeps counts of an account. */
export const KEPT_DAYS = 400;

/** What an account used on one UTC day, `YYYY-MM-DD`. */
export interface UsageDay {
  day: string;
  writes: number;
  queries: number;
}

/**
 * Queries that one instance reserved in advance. The store learns how many of them were used when
 * the instance closes the block.
 */
export interface QueryBlock {
  /** UUID. */
  id: string;
  /** Node to ask for the unused rest. */
  node: string;
  granted: number;
}

export interface QueriesTaken {
  /** Includes every open block in full. */
  queries: number;
  blocks: QueryBlock[];
}

/** Quota that a write occupies from before it is sent until its outcome is known. */
export interface AccountWriteHold {
  /** UUID. */
  id: string;
  writes: number;
  /** Maximum growth of the number of stored vectors. */
  vectors: number;
  /**
   * For a write that counts its exact quota: number of vectors stored before it began to count.
   * Null for a reservation.
   */
  baseline: number | null;
  /**
   * Changes with every renewal. If it stays the same for long, the owner is gone or does not know
   * the outcome.
   */
  beat: number;
}

/** All writes of one account in progress, on any node. */
export interface AccountWriteHolds {
  /** Number of changes; 0 if nothing was ever held. */
  revision: number;
  holds: AccountWriteHold[];
  /** Id of the hold that excludes all others. */
  alone: string | null;
  /** Instances that waited for room in an earlier version; this version always writes it empty. */
  line: { instance: string; beat: number }[];
}

export interface UsageStore {
  /** Includes every committed log entry exactly once. */
  read(accountId: AccountId, month: string): Promise<UsageRow>;
  readQueries(accountId: AccountId, month: string): Promise<QueriesTaken>;
  /**
   * Takes min(count, limit - taken) queries (`count` if `limit` is null) as an open block and
   * returns their number; 0 opens no block. Atomic. If a block with the id is already open, returns
   * what it was granted, so the call can be repeated after an unknown outcome.
   */
  openBlock(
    accountId: AccountId,
    month: string,
    block: Pick<QueryBlock, 'id' | 'node'>,
    count: number,
    limit: number | null,
  ): Promise<number>;
  /**
   * Closes a block and subtracts its unused part; the total never falls below 0. A negative `used`
   * subtracts more than the block. Only the first call counts; returns false if the block was not
   * open. `day`: day for which the used part counts.
   */
  closeBlock(accountId: AccountId, month: string, id: string, used: number, day?: string): Promise<boolean>;
  /**
   * Returns the days from `from` to `through` on which something was counted, oldest first. Writes
   * are those of every committed entry that names a day, queries those of closed blocks.
   */
  readDays(accountId: AccountId, from: string, through: string): Promise<UsageDay[]>;
  readHolds(accountId: AccountId): Promise<AccountWriteHolds>;
  /**
   * Compare-and-set: writes if the stored revision is `next.revision - 1`; otherwise changes
   * nothing and returns false.
   */
  replaceHolds(accountId: AccountId, next: AccountWriteHolds): Promise<boolean>;
}
