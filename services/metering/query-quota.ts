/**
 * Counts queries exactly, without a store write per query, with any number of instances.
 *
 * Queries are taken from a *block*, reserved in the store by a conditional increment that never
 * exceeds the limit. The account's responsible instance (account-router.ts) holds it. Unused
 * queries are returned after two idle seconds, at the end of the month, when the limit changes, on
 * `close`, and on request. A query is refused only if nothing is left and no block is open
 * anywhere; open blocks are recalled first.
 * A dead instance's block stays counted. While it may come back (10 s), queries that need it get
 * UNAVAILABLE; then the store closes the block as used. While the disk is full, the responsible
 * instance counts in memory and stores the count later; a crash loses it.
 */

import { randomUUID } from 'node:crypto';
import type { ProvecError } from '../../lib/errors.ts';
import type { AccountId } from '../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { dayOf, monthOf } from '../../lib/time/month.ts';
import { StoreError } from '../../store/port.ts';
import type { QueryBlock, UsageRow, UsageStore } from '../../store/usage.ts';
import {
  AccountQueries,
  type Credit,
  isWritten,
  type QueryWaiter,
  reserveSize,
  retireBlock,
  usedOf,
} from './account-queries.ts';
import type { Allowance } from './allowance.ts';
import { meteringUnavailable, planLimitReached } from './refusal.ts';

export interface QueryQuotaOptions {
  usage: UsageStore;
  clock: Clock;
  pricingUrl: string;
  readonly node: string;
  /** Whether this instance is responsible for the account. */
  isOurs(accountId: AccountId): boolean;
  /** Makes the reachable ones of `nodes` return their blocks of the account. Never rejects. */
  recall(accountId: AccountId, nodes: readonly string[]): Promise<void>;
}

/** Turns in a row without progress: others were faster, or the account is being deleted. */
const FRUITLESS_MAX = 16;

export class QueryQuota {
  readonly #options: QueryQuotaOptions;
  readonly #accounts = new Map<string, AccountQueries>();
  #closed = false;

  constructor(options: QueryQuotaOptions) {
    this.#options = options;
  }

  /**
   * Counts `count` queries, or none, and returns the month. Throws PLAN_LIMIT_REACHED, or
   * UNAVAILABLE while it is unknown whether enough are left.
   */
  async take(accountId: AccountId, allowance: Allowance, count = 1): Promise<{ month: string }> {
    const account = this.#account(accountId);
    const month = this.#month();
    account.lastTakenMs = this.#monotonicMs();
    account.taken += count;
    if (this.#draw(account, month, { allowance, count })) return { month };
    if (account.waiting.length >= INTERNAL_LIMITS.queryQueueMaxRequests)
      throw meteringUnavailable('Too many queries of this account at once: try again.');
    return new Promise((resolve, reject) => {
      account.waiting.push({ count, allowance, resolve, reject });
      void this.#refill(account);
    });
  }

  /** Returns queries that `take` counted in `month`, on this or another instance. */
  async giveBack(accountId: AccountId, month: string, count = 1): Promise<void> {
    const account = this.#account(accountId);
    if (account.block?.month === month) {
      account.block.used -= count;
      return;
    }
    creditOf(account, month).count += count;
    // Stored at once, because other instances may need the queries.
    await this.#writeOut(account);
  }

  /**
   * Returns the account's usage this month: at least what was answered before the call, at most
   * what had begun by its end. `uncertain` is the number of `queries` that may be unused, because
   * another instance reserved them and does not return them.
   */
  async read(accountId: AccountId): Promise<{ month: string; row: UsageRow; uncertain: number }> {
    const month = this.#month();
    let { row, queries, foreign } = await this.#look(accountId, month);
    if (foreign.length > 0) {
      const before = new Set(foreign.map(({ id }) => id));
      await this.#options.recall(accountId, nodesOf(foreign));
      ({ row, queries, foreign } = await this.#look(accountId, month));
      // A block opened since then holds only queries that began after this report.
      const [held, since] = [foreign.filter(({ id }) => before.has(id)), foreign.filter(({ id }) => !before.has(id))];
      queries = Math.max(0, queries - grantedIn(since));
      foreign = held;
    }
    const uncertain = grantedIn(foreign);
    return { month, row: { ...row, queries }, uncertain: Math.min(queries, uncertain) };
  }

  /** Returns unused queries to the store. */
  async yield(accountId: AccountId): Promise<void> {
    const account = this.#accounts.get(accountId);
    if (account !== undefined) await this.#writeOut(account, true);
  }

  /**
   * Returns blocks that are idle, of a past month, or of accounts of other instances. Call it once
   * a second, and when instances come or go.
   */
  async tick(): Promise<void> {
    const month = this.#month();
    const monotonicMs = this.#monotonicMs();
    await all(this.#accounts.values(), async (account) => {
      account.takenBefore = account.taken;
      account.taken = 0;
      const isIdle = monotonicMs - account.lastTakenMs >= INTERNAL_LIMITS.queryBlockIdleMaxMs;
      const isElsewhere = account.block?.limit !== null && !this.#options.isOurs(account.id);
      if (isIdle || account.block?.month !== month || isElsewhere) retireBlock(account);
      if (!isWritten(account)) await this.#writeOut(account);
      const isUnused = account.block === null && isWritten(account);
      if (!isIdle || !isUnused || account.waiting.length + account.operations > 0) return;
      // Observations of other instances' blocks are kept as long as they may be useful.
      const isOld = monotonicMs - account.lastTakenMs >= INTERNAL_LIMITS.meteringMemoryMaxMs;
      if (account.foreign.size === 0 || isOld) this.#accounts.delete(account.id);
    });
  }

  /** Forgets an account that was deleted. */
  forget(accountId: AccountId): void {
    const account = this.#accounts.get(accountId);
    if (account === undefined) return;
    account.block = null;
    account.closing.clear();
    account.credits.clear();
  }

  /** Returns all blocks. Later queries are counted without reserving more. */
  async close(): Promise<void> {
    this.#closed = true;
    await all(this.#accounts.values(), (account) => this.#writeOut(account, true));
  }

  #account(accountId: AccountId): AccountQueries {
    const account = this.#accounts.get(accountId) ?? new AccountQueries(accountId, () => this.#monotonicMs());
    this.#accounts.set(accountId, account);
    return account;
  }

  /**
   * Runs an account's store operations one after another. Recalls run between them, so that two
   * instances do not deadlock.
   */
  #inTurn<T>(account: AccountQueries, operation: () => Promise<T>): Promise<T> {
    account.operations++;
    const result = account.tail.then(operation).finally(() => account.operations--);
    // The caller gets the error; the next operation runs anyway.
    account.tail = result.catch(() => undefined);
    return result;
  }

  #look(accountId: AccountId, month: string): Promise<{ row: UsageRow; queries: number; foreign: QueryBlock[] }> {
    const { usage } = this.#options;
    const account = this.#account(accountId);
    return this.#inTurn(account, async () => {
      const row = await usage.read(accountId, month);
      return { row, ...usedOf(account, month, await usage.readQueries(accountId, month)) };
    });
  }

  /** Takes queries from the block, unless another limit applies since it was granted. */
  #draw(
    { block }: AccountQueries,
    month: string,
    { allowance, count }: Pick<QueryWaiter, 'allowance' | 'count'>,
  ): boolean {
    const limit = allowance.limits.queries;
    if (block === null || block.month !== month || block.used + count > block.granted) return false;
    if (limit !== null && block.limit !== limit) return false;
    block.used += count;
    return true;
  }

  #writeOut(account: AccountQueries, withBlock = this.#closed): Promise<void> {
    return this.#inTurn(account, () => {
      if (withBlock || this.#closed) retireBlock(account);
      return this.#write(account);
    });
  }

  async #closeBlocks(account: AccountQueries): Promise<void> {
    for (const [id, { month, used }] of [...account.closing]) {
      await this.#options.usage.closeBlock(account.id, month, id, used, this.#day());
      account.closing.delete(id);
    }
  }

  /**
   * Stores credits as blocks of one with negative use, and debts as blocks that are used up. Both
   * steps can be repeated after an unknown outcome, so each counts once.
   */
  async #write(account: AccountQueries): Promise<void> {
    const { usage, node } = this.#options;
    await this.#closeBlocks(account);
    for (const [month, credit] of [...account.credits]) {
      // Nothing must be recreated for an account that was deleted.
      const { queries } = await usage.readQueries(account.id, month);
      if (queries > 0 || credit.count < 0) {
        const block = { id: credit.id, node };
        const granted = await usage.openBlock(account.id, month, block, Math.max(1, -credit.count), null);
        const used = Math.min(granted, -credit.count);
        account.closing.set(credit.id, { month, used });
        credit.count += used;
      }
      account.credits.delete(month);
      // Queries that were served while the block was being opened are owed to the next one.
      if (credit.count < 0) account.credits.set(month, { id: randomUUID(), count: credit.count });
    }
    await this.#closeBlocks(account);
  }

  async #refill(account: AccountQueries): Promise<void> {
    if (account.refilling) return;
    account.refilling = true;
    const asked = new Set<string>();
    try {
      for (let fruitless = 0; account.waiting.length > 0; ) {
        const [first] = account.waiting;
        const open = await this.#inTurn(account, () => this.#take(account, asked));
        if (account.waiting[0] !== first) fruitless = 0;
        else if (fruitless++ === FRUITLESS_MAX) throw queriesUnknown();
        if (open.length === 0) continue;
        for (const { id } of open) asked.add(id);
        await this.#options.recall(account.id, nodesOf(open));
      }
    } catch (error) {
      for (const waiter of account.waiting.splice(0)) waiter.reject(error);
    } finally {
      account.refilling = false;
      // A request after `close` gets its own block, which counts as used if it cannot be closed.
      if (this.#closed) this.#writeOut(account).catch(() => undefined);
    }
  }

  /**
   * Reserves queries for waiting requests and a block for later ones; refuses requests for which
   * nothing is left. If other instances may hold some, decides nothing and returns their blocks
   * that are not in `asked`.
   */
  async #take(account: AccountQueries, asked: ReadonlySet<string>): Promise<QueryBlock[]> {
    try {
      return await this.#takeBlock(account, asked);
    } catch (error) {
      const isFull = error instanceof StoreError && error.kind === 'capacity';
      if (!isFull || !this.#options.isOurs(account.id)) throw error;
      await this.#serveUnwritten(account, error);
      return [];
    }
  }

  async #takeBlock(account: AccountQueries, asked: ReadonlySet<string>): Promise<QueryBlock[]> {
    const { usage } = this.#options;
    const first = account.waiting[0];
    if (first === undefined) return [];
    const limit = first.allowance.limits.queries;
    const month = this.#month();
    retireBlock(account);
    await this.#write(account);
    const askedAtMs = this.#monotonicMs();
    const stored = limit === null ? null : await usage.readQueries(account.id, month);
    if (limit === null || stored === null || stored.queries + first.count <= limit) {
      await this.#serve(account, { month, limit, taken: stored?.queries ?? 0 });
      return [];
    }
    const deciding = account.waiting.length;
    account.foreign.observe(stored.blocks.map(({ id }) => [id, 0] as const));
    const open = stored.blocks.filter(({ id }) => !asked.has(id));
    // Requests that arrived meanwhile start over, and so do all if credits are still to be stored.
    if (open.length > 0 || account.credits.size > 0) return open;
    await this.#endLost(account, month, stored.blocks, askedAtMs);
    this.#refuse(account.waiting.splice(0, deciding), stored.queries, account);
    return [];
  }

  /** Closes blocks as used if their owners are gone for long enough; before, throws UNAVAILABLE. */
  async #endLost(account: AccountQueries, month: string, blocks: QueryBlock[], askedAtMs: number): Promise<void> {
    const isHeld = ({ id }: QueryBlock): boolean =>
      account.foreign.unchangedMs(id, askedAtMs) < INTERNAL_LIMITS.queryBlockLostAfterMs;
    if (blocks.some(isHeld)) throw queriesUnknown();
    for (const { id, granted } of blocks)
      await this.#options.usage.closeBlock(account.id, month, id, granted, this.#day());
  }

  /** Opens a block and serves waiting requests. `taken`: queries counted in the store. */
  async #serve(
    account: AccountQueries,
    { month, limit, taken }: { month: string; limit: number | null; taken: number },
  ): Promise<void> {
    const { node } = this.#options;
    const block = { id: randomUUID(), month, limit, used: 0 };
    const asking = account.waiting.reduce((sum, { count }) => sum + count, 0);
    const more = this.#closed ? 0 : reserveSize(account, limit === null ? null : limit - taken - asking);
    // If opening fails, anything that the store created is closed.
    account.closing.set(block.id, block);
    const granted = await this.#open(account.id, month, { id: block.id, node }, asking + more, limit);
    account.closing.delete(block.id);
    account.block = { ...block, granted };
    let waiter = account.waiting[0];
    for (; waiter && this.#draw(account, month, waiter); waiter = account.waiting[0]) {
      account.waiting.shift();
      waiter.resolve({ month });
    }
  }

  /**
   * Serves waiting requests without writing to the store, and records a debt. Throws `error` for a
   * request that exceeds its plan's limit.
   */
  async #serveUnwritten(account: AccountQueries, error: StoreError): Promise<void> {
    const month = this.#month();
    const stored = await this.#options.usage.readQueries(account.id, month);
    const credit = creditOf(account, month);
    const waiting = account.waiting.splice(0);
    for (const [at, waiter] of waiting.entries()) {
      const { queries: limit } = waiter.allowance.limits;
      if (limit !== null && stored.queries - credit.count + waiter.count > limit) {
        account.waiting.unshift(...waiting.slice(at));
        throw error;
      }
      credit.count -= waiter.count;
      waiter.resolve({ month });
    }
  }

  /** Refuses requests that exceed their plan. If a plan has changed, the others wait for a turn. */
  #refuse(decided: QueryWaiter[], used: number, account: AccountQueries): void {
    const { clock, pricingUrl } = this.#options;
    const isOver = ({ allowance, count }: QueryWaiter): boolean =>
      used + count > (allowance.limits.queries ?? Infinity);
    account.waiting.unshift(...decided.filter((waiter) => !isOver(waiter)));
    for (const { allowance, count, reject } of decided.filter(isOver))
      reject(planLimitReached({ limit: 'queries', used, requested: count }, allowance, clock, pricingUrl));
  }

  async #open(...ask: Parameters<UsageStore['openBlock']>): Promise<number> {
    const { usage } = this.#options;
    try {
      return await usage.openBlock(...ask);
    } catch (error) {
      if (!(error instanceof StoreError && error.kind === 'unknown')) throw error;
      return usage.openBlock(...ask);
    }
  }

  #day(): string {
    return dayOf(this.#options.clock.wallMs());
  }

  #month(): string {
    return monthOf(this.#options.clock.wallMs());
  }

  #monotonicMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

function creditOf({ credits }: AccountQueries, month: string): Credit {
  const credit = credits.get(month) ?? { id: randomUUID(), count: 0 };
  credits.set(month, credit);
  return credit;
}

const grantedIn = (blocks: QueryBlock[]): number => blocks.reduce((sum, { granted }) => sum + granted, 0);

function nodesOf(blocks: QueryBlock[]): string[] {
  return [...new Set(blocks.map(({ node }) => node))];
}

/** Runs `act` for all items, then throws the first error. */
async function all<T>(items: Iterable<T>, act: (item: T) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled([...items].map(act));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function queriesUnknown(): ProvecError {
  return meteringUnavailable('It is not known yet whether the plan has queries left: try again.');
}
