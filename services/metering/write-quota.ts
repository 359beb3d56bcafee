/**
 * Reserves room for writes under a plan's limits, exact under concurrency, with any number of
 * instances.
 *
 * Committed writes never exceed a limit. A decision reads the account's row of holds first and the
 * committed usage after it, and is valid only if the row has not changed when the decision is
 * stored. A write that is committed but not settled counts twice for a short time; this makes
 * others wait, but never refuses them.
 * A hold expires when its owner stops renewing it, measured on the observer's clock.
 * See docs/internals/metering.md.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { itemAt } from '../../lib/checked-access.ts';
import type { AccountId } from '../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { monthOf } from '../../lib/time/month.ts';
import { StoreError } from '../../store/port.ts';
import type { AccountWriteHold, AccountWriteHolds, UsageRow, UsageStore } from '../../store/usage.ts';
import { AccountWrites, isAccountBusy, type WaitingReservation, type WriteAnswer } from './account-writes.ts';
import { meteringUnavailable, planLimitReached, tooBusy } from './refusal.ts';
import { type AccountHolds, type Decision, decideCounted, decideWrites, type WriteRequest } from './write-decisions.ts';

/** What one turn read, decided and will store for an account. */
interface Turn {
  /** The row as read. */
  row: AccountWriteHolds;
  /** The row to store. */
  next: AccountWriteHolds & AccountHolds;
  ending: ReadonlyMap<string, PromiseWithResolvers<void>>;
  renewing: readonly string[];
  decided: Map<WaitingReservation, Decision>;
}

export interface WriteQuotaOptions {
  usage: UsageStore;
  clock: Clock;
  pricingUrl: string;
  /**
   * Whether no other process uses the store. Holds found at the first read are then left over from
   * before this start, and end at once.
   */
  isAlone: boolean;
}

const ATTEMPTS_MAX = 100;
const CONFLICT_PAUSE_MAX_MS = 20;
const ROOM_UNCERTAIN =
  'A failure left it unknown whether other writes of this account were stored, and the plan has no room for more: ' +
  'try again when the room reserved for them has expired.';

export class WriteQuota {
  readonly #options: WriteQuotaOptions;
  readonly #accounts = new Map<string, AccountWrites>();

  constructor(options: WriteQuotaOptions) {
    this.#options = options;
  }

  /**
   * Reserves room for a write; without a ticket, `need.vectors` is an upper bound. Throws
   * PLAN_LIMIT_REACHED. Throws UNAVAILABLE after waiting too long for others, or at once if only
   * orphaned holds block it or its ticket is gone.
   */
  reserve(accountId: AccountId, request: WriteRequest): Promise<WriteAnswer> {
    const account = this.#account(accountId);
    if (account.waiting.length >= INTERNAL_LIMITS.writeQuotaQueueMaxRequests) return Promise.reject(tooBusy());
    return new Promise((resolve, reject) => {
      const giveUpAtMs = this.#monotonicMs() + INTERNAL_LIMITS.writeQuotaWaitMaxMs;
      account.waiting.push({ ...request, giveUpAtMs, unsure: null, resolve, reject });
      this.#wake(account);
    });
  }

  /**
   * Extends a reservation by `writeReservationMaxMs`, or shows that a ticket's holder is alive.
   * Does nothing if it has ended.
   */
  renew(accountId: AccountId, id: string): void {
    const account = this.#account(accountId);
    account.renewing.add(id);
    this.#wake(account);
  }

  /** Ends a reservation or gives up a ticket. Idempotent; retried until the store succeeds. */
  settle(accountId: AccountId, id: string): Promise<void> {
    const account = this.#account(accountId);
    const ended = account.ending.get(id) ?? Promise.withResolvers<void>();
    account.ending.set(id, ended);
    this.#wake(account);
    return ended.promise;
  }

  /** Ends expired holds and overdue requests, and retries the rest. Call it once a second. */
  sweep(): void {
    const monotonicMs = this.#monotonicMs();
    for (const account of this.#accounts.values()) {
      const late = account.waiting.filter((waiter) => waiter.giveUpAtMs <= monotonicMs);
      account.waiting = account.waiting.filter((waiter) => waiter.giveUpAtMs > monotonicMs);
      for (const waiter of late) waiter.reject(tooBusy());
      if (isAccountBusy(account) || account.runsOutAtMs <= monotonicMs) this.#wake(account);
      // Observations of other instances' holds are kept as long as they may be useful.
      else if (monotonicMs - account.lastUsedMs > INTERNAL_LIMITS.meteringMemoryMaxMs)
        this.#accounts.delete(account.id);
    }
  }

  #account(accountId: AccountId): AccountWrites {
    const account = this.#accounts.get(accountId) ?? new AccountWrites(accountId, () => this.#monotonicMs());
    this.#accounts.set(accountId, account);
    account.lastUsedMs = this.#monotonicMs();
    return account;
  }

  #wake(account: AccountWrites): void {
    account.again = true;
    if (!account.deciding) void this.#decide(account);
  }

  /** Takes turns as long as requests arrive or another instance changes the row first. */
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
        // Random, so that conflicting instances do not conflict again.
        await delay(Math.random() * Math.min(CONFLICT_PAUSE_MAX_MS, 2 ** attempt++));
      }
    } catch (error) {
      for (const waiter of account.waiting.splice(0)) waiter.reject(error);
      for (const ended of account.ending.values()) {
        // Callers that still wait get the error; without any, it must not count as unhandled.
        ended.promise.catch(() => undefined);
        ended.reject(error);
      }
    } finally {
      account.deciding = false;
    }
  }

  /** Reads the row, decides and stores the result; returns false if storing it failed. */
  async #turn(account: AccountWrites): Promise<boolean> {
    const waiting = [...account.waiting];
    const turn = await this.#read(account);
    // Must come after reading the row: writes settled before this are no longer among its holds.
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
      // The waiting request has timed out meanwhile; release what it was given.
      if (!waiting.has(waiter) && (decision.outcome === 'reserved' || decision.outcome === 'count'))
        // If that fails, the reservation expires.
        this.settle(account.id, waiter.id).catch(() => undefined);
    }
  }

  #answer({ id, need, allowance, resolve, reject }: WaitingReservation, decision: Decision): void {
    const { clock, pricingUrl } = this.#options;
    if (decision.outcome === 'refused') {
      const { limit, used } = decision;
      reject(planLimitReached({ limit, used, requested: need[limit] }, allowance, clock, pricingUrl));
    } else if (decision.outcome === 'uncertain') {
      reject(meteringUnavailable(ROOM_UNCERTAIN, Math.ceil(decision.forMs / 1_000)));
    } else if (decision.outcome === 'gone')
      reject(meteringUnavailable('The room held for this write has run out: try again.'));
    else resolve(decision.outcome === 'reserved' ? { outcome: 'reserved', id } : { outcome: 'count', ticket: id });
  }

  /** Reads the row and removes ended and expired holds from its next version. */
  async #read(account: AccountWrites): Promise<Turn> {
    const { sightings } = account;
    const [ending, renewing] = [new Map(account.ending), [...account.renewing]];
    const askedAtMs = this.#monotonicMs();
    const row = await this.#options.usage.readHolds(account.id).finally(() => sightings.read(askedAtMs));
    const waiting = new Set(account.waiting.map(({ id }) => id));
    sightings.observe(row);
    const isOver = (hold: AccountWriteHold): boolean => {
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

  async #replace(account: AccountWrites, next: AccountWriteHolds): Promise<'yes' | 'no' | 'unknown'> {
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

/** Decides as many waiting requests as possible, in order. */
function serve({ next, decided }: Turn, waiting: WaitingReservation[], stored: UsageRow): void {
  const holds = new Map(next.holds.map((hold) => [hold.id, hold]));
  const requests: WaitingReservation[] = [];
  for (const waiter of waiting) {
    const hold = holds.get(waiter.id);
    if (waiter.isCounted) decided.set(waiter, decideCounted(next, stored, waiter, waiter.unsure));
    // After an unknown outcome, the holds of waiting requests may exist already.
    else if (hold !== undefined) decided.set(waiter, { outcome: hold.baseline === null ? 'reserved' : 'count' });
    else requests.push(waiter);
  }
  const decisions = decideWrites(next, stored, requests, INTERNAL_LIMITS.writeHoldsMax);
  for (const [at, decision] of decisions.entries()) decided.set(itemAt(requests, at), decision);
}
