/**
 * Counts queries, exactly, without a store write per query, with any number of instances.
 *
 * Queries are drawn from a *block* that was taken from the store beforehand, by a conditional
 * increment that never passes the plan's limit: as many as were asked for just before, at most
 * `queryBlockMax`, and fewer when little is left. The store knows which blocks are open, and at
 * which node. A block that is not used goes back after two seconds, at the end of its month, when
 * the limit changes, on `close`, and when another instance asks for it. Where the plan has no limit
 * a block is larger.
 *
 * Nothing is refused early: a query is refused only when the store has nothing left and no block is
 * open anywhere. If one is, its node is asked to give it back (`recall`) and the store is asked
 * again. All store operations of an account run one after another (`tail`); recalls run between
 * them, so that two instances that recall each other do not wait for each other.
 *
 * A report counts what is used of open blocks, not the blocks: the others say what they have used
 * before the store is read. A block that was opened after that, and so while the report was made,
 * counts as not used yet; one that is older and of which nobody speaks (its node is gone, or does
 * not answer) counts as used, and the report says by how much that may be too many.
 *
 * Failure: how many queries of a block a dead process used stands in its journal (see
 * use-journal.ts), on its own disk: what it did not use goes back at once where another process
 * uses the same folder, else when its node starts again. While a block is open whose node does not
 * answer, queries that find nothing else are told to try again (UNAVAILABLE), for
 * `queryBlockLostAfterMs` (10 s); after that the block counts as used until its journal is found:
 * for good when its disk is lost. So a limit is never passed, and a crash costs an account at most
 * the block. An instance that is cut off from the others but not from the store gives back by
 * itself; one that is cut off from the store can only use up what it has.
 */
import { randomUUID } from 'node:crypto';
import type { BlockUse } from '../../lib/actions/metering.ts';
import { ProvecError } from '../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/runtime.ts';
import { StoreError } from '../../lib/store/port.ts';
import type { QueryBlock, UsageRow, UsageStore } from '../../lib/store/usage.ts';
import { monthOf } from '../../lib/time/month.ts';
import {
  type AccountQueries,
  dissolve,
  inUse,
  isAsked,
  newAccountQueries,
  type QueryWaiter,
  spare,
  usesOf,
} from './account-queries.ts';
import type { Allowance } from './allowance.ts';
import type { BlockUses } from './block-uses.ts';
import { planLimitReached } from './refusal.ts';
import { type BatchNumbers, ReturnedQueries } from './returned-queries.ts';

export interface QueryQuotaOptions {
  usage: UsageStore;
  clock: Clock;
  pricingUrl: string;
  readonly node: string;
  uses: BlockUses;
  /**
   * Has those of the nodes that can be reached give back what they hold of the account; never
   * rejects.
   */
  recall(accountId: string, nodes: readonly string[]): Promise<void>;
  /** What all others have used of their blocks, as far as they can be reached; never rejects. */
  usesElsewhere(accountId: string): Promise<BlockUse[]>;
}

/**
 * Turns that served and refused nobody: others were faster each time, or the account is being
 * deleted.
 */
const FRUITLESS_MAX = 16;
const UNKNOWN = 'It is not known yet whether the plan has queries left: try again.';

export class QueryQuota {
  readonly #options: QueryQuotaOptions;
  readonly #accounts = new Map<string, AccountQueries>();
  readonly #numbers: BatchNumbers = { counter: randomUUID(), next: () => ++this.#batches };
  #batches = 0;
  #closed = false;

  constructor(options: QueryQuotaOptions) {
    this.#options = options;
  }

  /**
   * Counts one query and says in which month. Throws PLAN_LIMIT_REACHED, or UNAVAILABLE while it is
   * not known whether anything is left.
   */
  async take(accountId: string, allowance: Allowance): Promise<{ month: string }> {
    if (this.#closed) throw unavailable('The service is stopping.');
    const account = this.#account(accountId);
    const month = this.#month();
    const { queries } = allowance.limits;
    account.lastTakenMs = this.#options.clock.monotonicMs();
    account.taken++;
    if (this.#draw(account, month, queries)) return { month };
    if (account.waiting.length >= INTERNAL_LIMITS.queryQueueMaxRequests)
      throw unavailable('Too many queries of this account at once: try again.');
    return new Promise((resolve, reject) => {
      account.waiting.push({ allowance, resolve, reject });
      void this.#refill(accountId, account);
    });
  }

  /** Takes back a query that `take` counted in `month`, here or elsewhere. */
  async giveBack(accountId: string, month: string): Promise<void> {
    const account = this.#account(accountId);
    const { block } = account;
    if (block?.month === month && block.used > 0 && this.#options.uses.isCurrent) {
      block.used--;
      this.#options.uses.note(block.id, block.used);
      return;
    }
    account.returned.add(month, 1);
    // Others may need it, who cannot know of it before it is in the store.
    await this.#writeOut(accountId, account);
  }

  /**
   * The account's usage this month: at least what was answered before, at most what had begun in
   * the end, here and wherever the others can be reached. `uncertain`: of `queries`, how many may
   * not have been used.
   */
  async read(accountId: string): Promise<{ month: string; row: UsageRow; uncertain: number }> {
    const { usage } = this.#options;
    const month = this.#month();
    const before = await usage.readQueries(accountId, month);
    const uses = await this.#options.usesElsewhere(accountId);
    const account = this.#account(accountId);
    // Of a process that died on this machine a moment ago the journal says what it had used.
    if (inUse(before.blocks, before.blocks, [...uses, ...usesOf(account)]).uncertain > 0)
      await this.#options.uses.adopt();
    return this.#inTurn(account, async () => {
      // Whether a block or a batch of which the answer was lost is in the store's number, nobody
      // knows before.
      await this.#closeBlocks(accountId, account);
      await account.returned.settle();
      const stored = await usage.read(accountId, month);
      const taken = await usage.readQueries(accountId, month);
      const open = inUse(taken.blocks, before.blocks, [...uses, ...usesOf(account)]);
      const queries = Math.max(0, taken.queries - open.unused - account.returned.in(month));
      return { month, row: { ...stored, queries }, uncertain: Math.min(queries, open.uncertain) };
    });
  }

  /**
   * For the report of another instance: what is used of the blocks that the store may have open.
   */
  async uses(accountId: string): Promise<BlockUse[]> {
    const account = this.#accounts.get(accountId);
    if (account === undefined) return [];
    await this.#writeOut(accountId, account);
    return usesOf(account);
  }

  /** Gives back what was taken beforehand. */
  async yield(accountId: string): Promise<void> {
    const account = this.#accounts.get(accountId);
    if (account !== undefined) await this.#writeOut(accountId, account, true);
  }

  /** Returns blocks that are idle or of a past month. To be called once a second. */
  async tick(): Promise<void> {
    if (!this.#options.uses.isCurrent) this.renewUses();
    const month = this.#month();
    const nowMs = this.#options.clock.monotonicMs();
    const forgetBeforeMs = nowMs - INTERNAL_LIMITS.meteringMemoryMaxMs;
    const written = await Promise.allSettled(
      [...this.#accounts].map(async ([accountId, account]) => {
        account.takenBefore = account.taken;
        account.taken = 0;
        const idle = nowMs - account.lastTakenMs >= INTERNAL_LIMITS.queryBlockIdleMaxMs;
        if (idle || account.block?.month !== month) dissolve(account);
        if (!isWritten(account)) await this.#writeOut(accountId, account);
        const unused = account.block === null && isWritten(account);
        // What was seen of others' blocks is kept for as long as it may be of use.
        const isForgettable = account.foreign.size === 0 || account.lastTakenMs <= forgetBeforeMs;
        if (!idle || !unused || account.waiting.length + account.operations > 0) return;
        if (isForgettable) this.#accounts.delete(accountId);
        await this.#inTurn(account, () => account.returned.unmark());
      }),
    );
    rethrowFirst(written);
  }

  /**
   * Begins a new journal, and gives back all blocks of the old one: somebody may have found it
   * abandoned.
   */
  renewUses(): void {
    for (const account of this.#accounts.values()) dissolve(account);
    this.#options.uses.renew();
  }

  /** Forgets an account that was deleted. */
  forget(accountId: string): void {
    const account = this.#accounts.get(accountId);
    if (account === undefined) return;
    dissolve(account);
    for (const id of account.closing.keys()) this.#options.uses.end(id);
    account.closing.clear();
    account.returned.clear();
  }

  /** Refuses further queries and returns all blocks. */
  async close(): Promise<void> {
    this.#closed = true;
    const written = await Promise.allSettled(
      [...this.#accounts].map(async ([accountId, account]) => {
        await this.#writeOut(accountId, account, true);
        await this.#inTurn(account, () => account.returned.unmark());
      }),
    );
    rethrowFirst(written);
  }

  #account(accountId: string): AccountQueries {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      const returned = new ReturnedQueries(this.#options.usage, accountId, this.#numbers);
      account = newAccountQueries(this.#options.clock, returned);
      this.#accounts.set(accountId, account);
    }
    return account;
  }

  #inTurn<T>(account: AccountQueries, operation: () => Promise<T>): Promise<T> {
    account.operations++;
    const result = account.tail.then(operation).finally(() => account.operations--);
    account.tail = result.catch(() => undefined);
    return result;
  }

  /**
   * Uses one query of the block; a block granted under another limit is not drawn from: the plan
   * has changed.
   */
  #draw(account: AccountQueries, month: string, limit: number | null): boolean {
    const { block } = account;
    const { uses } = this.#options;
    if (block === null || block.month !== month || block.used >= block.granted) return false;
    if (limit !== null && block.limit !== limit) return false;
    if (uses.isCurrent) {
      block.used++;
      uses.note(block.id, block.used);
      // Asked after the use was noted too: a process may be paused anywhere, and what was noted too
      // late nobody saw.
      if (uses.isCurrent) return true;
    }
    dissolve(account);
    return false;
  }

  #writeOut(accountId: string, account: AccountQueries, withBlock = this.#closed): Promise<void> {
    return this.#inTurn(account, () => {
      if (withBlock || this.#closed) dissolve(account);
      return this.#write(accountId, account);
    });
  }

  async #closeBlocks(accountId: string, account: AccountQueries): Promise<void> {
    const { usage, uses } = this.#options;
    for (const [id, { month, used }] of [...account.closing]) {
      await usage.closeBlock(accountId, month, id, used);
      account.closing.delete(id);
      uses.end(id);
    }
  }

  async #write(accountId: string, account: AccountQueries): Promise<void> {
    await this.#closeBlocks(accountId, account);
    await account.returned.write();
  }

  async #refill(accountId: string, account: AccountQueries): Promise<void> {
    if (account.refilling) return;
    account.refilling = true;
    const asked = new Set<string>();
    try {
      for (let fruitless = 0; account.waiting.length > 0; ) {
        const [first] = account.waiting;
        const open = await this.#inTurn(account, () => this.#takeBlock(accountId, account));
        if (account.waiting[0] !== first) fruitless = 0;
        else if (isAsked(open, asked) || fruitless++ === FRUITLESS_MAX) throw unavailable(UNKNOWN);
        if (open.length === 0) continue;
        for (const { id } of open) asked.add(id);
        await this.#options.uses.adopt();
        await this.#options.recall(accountId, [...new Set(open.map(({ node }) => node))]);
      }
    } catch (error) {
      for (const waiter of account.waiting.splice(0)) waiter.reject(error);
    } finally {
      account.refilling = false;
    }
  }

  /**
   * Takes queries from the store for those who wait, and a block for those to come; refuses those
   * for whom nothing is left. Where others may hold some, returns their blocks, and decides
   * nothing.
   */
  async #takeBlock(accountId: string, account: AccountQueries): Promise<QueryBlock[]> {
    const { usage, clock, uses } = this.#options;
    const first = account.waiting[0];
    if (first === undefined) return [];
    const limit = first.allowance.limits.queries;
    const month = this.#month();
    dissolve(account);
    await this.#write(accountId, account);
    const askedAtMs = clock.monotonicMs();
    const stored = limit === null ? null : await usage.readQueries(accountId, month);
    if (!uses.isCurrent) {
      this.renewUses();
      return [];
    }
    if (limit === null || stored === null || stored.queries < limit) {
      await this.#serve(accountId, account, { month, limit, taken: stored?.queries ?? 0 });
      return [];
    }
    const asking = account.waiting.length;
    account.foreign.observe(stored.blocks.map(({ id }) => [id, 0] as const));
    const open = stored.blocks.filter(
      ({ id }) => account.foreign.unchangedMs(id, askedAtMs) < INTERNAL_LIMITS.queryBlockLostAfterMs,
    );
    // One that came meanwhile asks the store itself, and so do all when something of ours is still
    // to go back.
    if (open.length > 0 || account.returned.in(month) > 0) return open;
    this.#refuse(account.waiting.splice(0, asking), stored.queries, account);
    return [];
  }

  /** Opens a block of which `taken` queries were taken when it was read, and serves who waits. */
  async #serve(
    accountId: string,
    account: AccountQueries,
    { month, limit, taken }: { month: string; limit: number | null; taken: number },
  ): Promise<void> {
    const { node, uses } = this.#options;
    const block = { id: randomUUID(), month, limit, used: 0 };
    const { generation } = uses;
    uses.begin({ accountId, month, id: block.id });
    const asking = account.waiting.length;
    const wanted = asking + spare(account, limit === null ? null : limit - taken - asking);
    // Should its opening fail, whatever the store made of it is closed.
    account.closing.set(block.id, block);
    const granted = await this.#open(accountId, month, { id: block.id, node }, wanted, limit);
    // Where this process stood still meanwhile and has another journal now, nobody would learn of
    // its uses.
    if (uses.generation !== generation) return;
    account.closing.delete(block.id);
    account.block = { ...block, granted };
    let waiter = account.waiting[0];
    for (; waiter && this.#draw(account, month, waiter.allowance.limits.queries); waiter = account.waiting[0]) {
      account.waiting.shift();
      waiter.resolve({ month });
    }
  }

  /**
   * Refuses those whose plan has no query left. A plan that was changed meanwhile gives those who
   * came after it another limit: they wait on, and the next turn decides.
   */
  #refuse(decided: QueryWaiter[], used: number, account: AccountQueries): void {
    const { clock, pricingUrl } = this.#options;
    const isOver = ({ allowance }: QueryWaiter): boolean => (allowance.limits.queries ?? Infinity) <= used;
    account.waiting.unshift(...decided.filter((waiter) => !isOver(waiter)));
    for (const { allowance, reject } of decided.filter(isOver))
      reject(planLimitReached({ limit: 'queries', used, requested: 1 }, allowance, clock, pricingUrl));
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

  #month(): string {
    return monthOf(this.#options.clock.wallMs());
  }
}

/** Whether the store knows all that there is to know. */
function isWritten({ returned, closing }: AccountQueries): boolean {
  return returned.isEmpty && closing.size === 0;
}

function rethrowFirst(outcomes: PromiseSettledResult<unknown>[]): void {
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function unavailable(message: string): ProvecError {
  return new ProvecError('UNAVAILABLE', message, { retryAfterSeconds: 1 });
}
