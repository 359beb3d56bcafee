/**
 * Room for writes under a plan's limits, exact under concurrency, with any number of instances.
 *
 * Promises: no sum of committed writes passes a limit. A decision reads the account's row of holds
 * first, the committed usage after it, and counts only if the row is still the same when it is
 * written. A write that is committed and not settled counts twice for a while: it makes others
 * wait, and never refuses one.
 * How it fails: holds of callers that died run out, on the clock of whoever sees them stand still.
 * See docs/internals/metering.md.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { StoreError } from '../../lib/store/port.ts';
import type { UsageRow, UsageStore, WriteHold, WriteHolds } from '../../lib/store/usage.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { monthOf } from '../../lib/time/month.ts';
import { AccountWrites, isBusy, type Waiter, type WriteAnswer } from './account-writes.ts';
import { planLimitReached, tooBusy, unavailable } from './refusal.ts';
import { type Decision, decideCounted, decideWrites, type Held, type WriteRequest } from './write-decisions.ts';

/** What a turn finds, and makes of it. */
interface Turn {
  row: WriteHolds;
  /** What the row is to become. */
  next: WriteHolds & Held;
  ending: ReadonlyMap<string, PromiseWithResolvers<void>>;
  renewing: readonly string[];
  decided: Map<Waiter, Decision>;
}

export interface WriteQuotaOptions {
  usage: UsageStore;
  clock: Clock;
  pricingUrl: string;
  /**
   * Whether no other process uses the store: what is held when it first looks is of before its
   * start then, and ends at once.
   */
  isAlone: boolean;
}

const ATTEMPTS_MAX = 100;
const CONFLICT_PAUSE_MAX_MS = 20;
const ROOM_UNCERTAIN =
  'A failure left it unknown whether other writes of this account were stored, and the plan has no room beside them: ' +
  'try again when the room held for them has run out.';

export class WriteQuota {
  readonly #options: WriteQuotaOptions;
  readonly #accounts = new Map<string, AccountWrites>();

  constructor(options: WriteQuotaOptions) {
    this.#options = options;
  }

  /**
   * Room for a write; `need.vectors` is an upper bound if it has not counted. Throws
   * PLAN_LIMIT_REACHED, or UNAVAILABLE: after waiting too long for others, or at once where only
   * orphaned holds are in its way, or where its ticket is gone.
   */
  reserve(accountId: string, request: WriteRequest): Promise<WriteAnswer> {
    const account = this.#account(accountId);
    if (account.waiting.length >= INTERNAL_LIMITS.writeQuotaQueueMaxRequests) return Promise.reject(tooBusy());
    return new Promise((resolve, reject) => {
      const giveUpAtMs = this.#monotonicMs() + INTERNAL_LIMITS.writeQuotaWaitMaxMs;
      account.waiting.push({ ...request, giveUpAtMs, unsure: null, resolve, reject });
      this.#wake(account);
    });
  }

  /**
   * Keeps a reservation for another `writeReservationMaxMs`, and shows that the holder of a ticket
   * lives. Nothing happens when it has ended.
   */
  renew(accountId: string, id: string): void {
    const account = this.#account(accountId);
    account.renewing.add(id);
    this.#wake(account);
  }

  /** Ends a reservation or gives up a ticket. Idempotent; tried until the store does it. */
  settle(accountId: string, id: string): Promise<void> {
    const account = this.#account(accountId);
    const ended = account.ending.get(id) ?? Promise.withResolvers<void>();
    account.ending.set(id, ended);
    this.#wake(account);
    return ended.promise;
  }

  /**
   * Ends what has run out, and requests that waited too long, and looks whether another instance
   * made room. To be called about once a second.
   */
  sweep(): void {
    const monotonicMs = this.#monotonicMs();
    for (const account of this.#accounts.values()) {
      const late = account.waiting.filter((waiter) => waiter.giveUpAtMs <= monotonicMs);
      account.waiting = account.waiting.filter((waiter) => waiter.giveUpAtMs > monotonicMs);
      for (const waiter of late) waiter.reject(tooBusy());
      if (isBusy(account) || account.runsOutAtMs <= monotonicMs) this.#wake(account);
      // What was seen of others' holds is kept for as long as it may be of use.
      else if (monotonicMs - account.lastUsedMs > INTERNAL_LIMITS.meteringMemoryMaxMs)
        this.#accounts.delete(account.id);
    }
  }

  #account(accountId: string): AccountWrites {
    const account = this.#accounts.get(accountId) ?? new AccountWrites(accountId, () => this.#monotonicMs());
    this.#accounts.set(accountId, account);
    account.lastUsedMs = this.#monotonicMs();
    return account;
  }

  #wake(account: AccountWrites): void {
    account.again = true;
    if (!account.deciding) void this.#decide(account);
  }

  /** Takes turns for as long as something came in, or another instance was faster. */
  async #decide(account: AccountWrites): Promise<void> {
    account.deciding = true;
    try {
      for (let attempt = 0; account.again && attempt < ATTEMPTS_MAX; ) {
        account.again = false;
        if (await this.#turn(account)) {
          attempt = 0;
          continue;
        }
        account.again = true;
        // So that instances that met do not go on meeting.
        await delay(Math.random() * Math.min(CONFLICT_PAUSE_MAX_MS, 2 ** attempt++));
      }
    } catch (error) {
      for (const waiter of account.waiting.splice(0)) waiter.reject(error);
      for (const ended of account.ending.values()) {
        ended.promise.catch(() => undefined);
        ended.reject(error);
      }
    } finally {
      account.deciding = false;
    }
  }

  /** One reading, what it decides, one writing; false where that failed. */
  async #turn(account: AccountWrites): Promise<boolean> {
    const waiting = [...account.waiting];
    const turn = await this.#read(account);
    // After the row: what was committed and settled before this reading is not among its holds.
    if (waiting.length > 0) serve(turn, waiting, await this.#options.usage.read(account.id, this.#month()));
    const { row, next, decided } = turn;
    if (!isDeepStrictEqual(next.holds, row.holds) || next.alone !== row.alone) {
      const replaced = await this.#replace(account, next);
      if (replaced === 'unknown') for (const [waiter, decision] of decided) waiter.unsure = decision;
      if (replaced !== 'yes') return false;
    }
    this.#settleTurn(account, turn);
    return true;
  }

  #settleTurn(account: AccountWrites, { ending, renewing, decided }: Turn): void {
    account.isNew = false;
    for (const [id, ended] of ending) {
      if (account.ending.get(id) === ended) account.ending.delete(id);
      ended.resolve();
    }
    for (const id of renewing) account.renewing.delete(id);
    const waiting = new Set(account.waiting);
    account.waiting = account.waiting.filter((waiter) => !decided.has(waiter));
    for (const [waiter, decision] of decided) {
      this.#answer(waiter, decision);
      // Nobody is there any more to take what was given them.
      if (!waiting.has(waiter) && (decision.outcome === 'reserved' || decision.outcome === 'count'))
        this.settle(account.id, waiter.id).catch(() => undefined);
    }
  }

  #answer({ id, need, allowance, resolve, reject }: Waiter, decision: Decision): void {
    const { clock, pricingUrl } = this.#options;
    if (decision.outcome === 'refused') {
      const { limit, used } = decision;
      reject(planLimitReached({ limit, used, requested: need[limit] }, allowance, clock, pricingUrl));
    } else if (decision.outcome === 'uncertain') {
      reject(unavailable(ROOM_UNCERTAIN, Math.ceil(decision.forMs / 1_000)));
    } else if (decision.outcome === 'gone') reject(unavailable('The room held for this write has run out: try again.'));
    else resolve(decision.outcome === 'reserved' ? { outcome: 'reserved', id } : { outcome: 'count', ticket: id });
  }

  /** The row, and what it is without the holds that have ended or run out. */
  async #read(account: AccountWrites): Promise<Turn> {
    const { sightings } = account;
    const [ending, renewing] = [new Map(account.ending), [...account.renewing]];
    const askedAtMs = this.#monotonicMs();
    const row = await this.#options.usage.readHolds(account.id).finally(() => sightings.read(askedAtMs));
    const waiting = new Set(account.waiting.map(({ id }) => id));
    sightings.observe(row);
    const isOver = (hold: WriteHold): boolean => {
      if (ending.has(hold.id)) return true;
      if (this.#options.isAlone && account.isNew && !waiting.has(hold.id)) return true;
      return sightings.leftMs(hold, askedAtMs) <= 0;
    };
    const holds = row.holds
      .filter((hold) => !isOver(hold))
      .map((hold) => ({ ...hold, beat: hold.beat + (renewing.includes(hold.id) ? 1 : 0) }));
    const orphaned = new Map(
      holds
        .filter((hold) => !renewing.includes(hold.id) && sightings.isOrphaned(hold, askedAtMs))
        .map((hold) => [hold.id, sightings.leftMs(hold, askedAtMs)] as const),
    );
    account.runsOutAtMs = askedAtMs + Math.min(...orphaned.values());
    const alone = holds.some(({ id }) => id === row.alone) ? row.alone : null;
    const next = { revision: row.revision + 1, holds, alone, line: [], orphaned };
    return { row, next, ending, renewing, decided: new Map() };
  }

  async #replace(account: AccountWrites, next: WriteHolds): Promise<'yes' | 'no' | 'unknown'> {
    const { revision, holds, alone, line } = next;
    try {
      if (!(await this.#options.usage.replaceHolds(account.id, { revision, holds, alone, line }))) return 'no';
      account.sightings.observe(next);
      return 'yes';
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'unknown') return 'unknown';
      throw error;
    }
  }

  #month(): string {
    return monthOf(this.#options.clock.wallMs());
  }

  #monotonicMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** Decides, in their order, as many of those who wait as can be. */
function serve({ next, decided }: Turn, waiting: Waiter[], stored: UsageRow): void {
  const holds = new Map(next.holds.map((hold) => [hold.id, hold]));
  const requests: Waiter[] = [];
  for (const waiter of waiting) {
    const hold = holds.get(waiter.id);
    if (waiter.isCounted) decided.set(waiter, decideCounted(next, stored, waiter, waiter.unsure));
    // After an unknown outcome the holds of those who still wait may be there already.
    else if (hold !== undefined) decided.set(waiter, { outcome: hold.baseline === null ? 'reserved' : 'count' });
    else requests.push(waiter);
  }
  const decisions = decideWrites(next, stored, requests, INTERNAL_LIMITS.writeHoldsMax);
  for (const [at, decision] of decisions.entries()) decided.set(requests[at]!, decision);
}
