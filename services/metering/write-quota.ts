/**
 * Room for writes under a plan's limits, exact under concurrency, with any number of instances.
 *
 * Promise: committed writes and stored vectors never pass a limit, and a write is refused only when
 * it does not fit beside what is committed. Committed usage is the store's (each log entry once);
 * what is under way stands as *holds* in one row per account, changed by compare-and-set only, from
 * `reserve` to `settle`. Every decision reads the row first and the usage after it, and is good
 * only if the row is still the same when it is written: so no instance, however long it was paused
 * or cut off, can give room away on an old view, and no instance is in charge of anything: the
 * death of one takes nothing with it. A write that is committed but not yet settled counts twice,
 * so a sum that is too high only makes a request wait until the account's writes under way have
 * ended; then the store's numbers decide.
 *
 * Vectors: a request asks with an upper bound (all its records are new). If only that does not fit,
 * it gets a *ticket*: nobody else of the account gets room while it counts which ids are new, and
 * until its write has ended. Deletes need no room and go on meanwhile, so the count is judged
 * against the stored number of before the count: whatever a delete takes away after that, baseline
 * + count bounds the outcome from above. If it fits only the number of now, the count may include
 * ids that a delete has just removed: it is asked for again.
 *
 * Order: requests of one instance are decided as they came. Instances whose requests have to wait
 * stand in line in the row and take turns, so that small requests elsewhere do not keep a large one
 * waiting for ever; one that does not move for five seconds loses its place.
 *
 * Failure: holds of callers that died run out. Any instance that has seen one unchanged for its
 * whole lifetime on its own clock ends it: a ticket after one minute (it is worth nothing then, so
 * a late count never decides), a reservation two minutes after its last renewal: by then no shard
 * takes the write any more, since it refuses what has waited longer than its caller did. Until then
 * requests that do not fit beside it are told to try again (UNAVAILABLE), not that the plan is used
 * up: at once, with the time that is left, when nothing was heard of the holder for five seconds.
 * Settling late does nothing. After an unknown outcome the row is read again: a hold has its id
 * before it is written. A process that is alone on its store knows that holds which it did not make
 * are of before its start, and ends them at once.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProvecError } from '../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/runtime.ts';
import { StoreError } from '../../lib/store/port.ts';
import type { UsageRow, UsageStore, WaitingInstance, WriteHold, WriteHolds } from '../../lib/store/usage.ts';
import { monthOf } from '../../lib/time/month.ts';
import { type AccountWrites, isBusy, newAccountWrites, type Waiter, type WriteAnswer } from './account-writes.ts';
import { type Allowance, passes } from './allowance.ts';
import { planLimitReached, roomUncertain, ticketGone, tooBusy } from './refusal.ts';
import { type Decision, decideWrites, type WriteNeed } from './write-decisions.ts';
import { lineUp, nextRow } from './write-row.ts';

/** What a turn makes of a row. */
interface Turn {
  next: WriteHolds;
  orphaned: ReadonlyMap<string, number>;
  changed: boolean;
  decided: { waiter: Waiter; decision: Decision }[];
  stored: UsageRow | null;
}

export interface WriteQuotaOptions {
  usage: UsageStore;
  clock: Clock;
  pricingUrl: string;
  /** Whether no other process uses the store. */
  isAlone: boolean;
  /** Room came free while other instances wait for it. */
  onRoom(accountId: string): void;
}

const ATTEMPTS_MAX = 100;
const CONFLICT_PAUSE_MAX_MS = 20;
/** Requests decided in one turn while other instances stand in line. */
const TURN_MAX_REQUESTS = 64;

export class WriteQuota {
  readonly #options: WriteQuotaOptions;
  readonly #instance = randomUUID();
  readonly #accounts = new Map<string, AccountWrites>();

  constructor(options: WriteQuotaOptions) {
    this.#options = options;
  }

  /**
   * Room for a write; `need.vectors` is an upper bound. Throws PLAN_LIMIT_REACHED, or UNAVAILABLE:
   * after waiting too long for others, or at once where only orphaned holds are in its way.
   */
  reserve(accountId: string, need: WriteNeed, allowance: Allowance): Promise<WriteAnswer> {
    const account = this.#account(accountId);
    if (account.waiting.length >= INTERNAL_LIMITS.writeQuotaQueueMaxRequests) return Promise.reject(tooBusy());
    return new Promise((resolve, reject) => {
      const giveUpAtMs = this.#nowMs() + INTERNAL_LIMITS.writeQuotaWaitMaxMs;
      account.waiting.push({ id: randomUUID(), need, allowance, giveUpAtMs, resolve, reject });
      this.#wake(accountId, account);
    });
  }

  /** `reserve` for the holder of a ticket, which has counted `need.vectors` exactly. */
  async reserveCounted(accountId: string, need: WriteNeed, ticket: string, allowance: Allowance): Promise<WriteAnswer> {
    const account = this.#account(accountId);
    const { usage } = this.#options;
    let isUnsure = false;
    let refusal: ProvecError | null = null;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const { next } = await this.#read(account, accountId);
      const hold = next.holds.find(({ id }) => id === ticket);
      if (hold === undefined) throw refusal ?? ticketGone();
      if (hold.baseline === null) {
        if (isUnsure) return { outcome: 'reserved', id: ticket };
        throw ticketGone();
      }
      const stored = await usage.read(accountId, this.#month());
      const { writes, vectors } = allowance.limits;
      const passed = (['writes', 'vectors'] as const).find((limit) =>
        passes(allowance.limits[limit], stored[limit], need[limit]),
      );
      if (passed !== undefined) {
        // By the row, like what is granted: the same call may have been made again, and have its
        // room by now.
        refusal = this.#refusal(passed, stored[passed], need, allowance);
        if ((await this.#giveUp(accountId, account, ticket, next)) === 'yes') throw refusal;
        await pause(attempt);
        continue;
      }
      const isSure = !passes(vectors, hold.baseline, need.vectors) && !passes(writes, stored.writes, need.writes);
      Object.assign(hold, isSure ? { ...need, baseline: null } : { baseline: stored.vectors }, { beat: hold.beat + 1 });
      const replaced = await this.#replace(accountId, account, next);
      if (replaced === 'yes') return isSure ? { outcome: 'reserved', id: ticket } : { outcome: 'count', ticket };
      isUnsure ||= replaced === 'unknown';
      await pause(attempt);
    }
    throw tooBusy();
  }

  /** Ends a ticket, if the row is still what `next` was made of. */
  async #giveUp(
    accountId: string,
    account: AccountWrites,
    ticket: string,
    next: WriteHolds,
  ): Promise<'yes' | 'no' | 'unknown'> {
    next.holds = next.holds.filter(({ id }) => id !== ticket);
    if (next.alone === ticket) next.alone = null;
    const replaced = await this.#replace(accountId, account, next);
    if (replaced !== 'yes') return replaced;
    account.own.delete(ticket);
    if (next.line.some(({ instance }) => instance !== this.#instance)) this.#options.onRoom(accountId);
    this.#wake(accountId, account);
    return replaced;
  }

  /**
   * Keeps a reservation for another `writeReservationMaxMs`, and shows that the holder of a ticket
   * lives. Nothing happens when it has ended.
   */
  renew(accountId: string, id: string): void {
    const account = this.#account(accountId);
    account.renewing.add(id);
    this.#wake(accountId, account);
  }

  /** Ends a reservation or gives up a ticket. Idempotent; tried until the store does it. */
  settle(accountId: string, id: string): Promise<void> {
    const account = this.#account(accountId);
    const ended = account.ending.get(id) ?? Promise.withResolvers<void>();
    account.ending.set(id, ended);
    this.#wake(accountId, account);
    return ended.promise;
  }

  /** Room may have come free elsewhere. */
  look(accountId: string): void {
    const account = this.#accounts.get(accountId);
    if (account !== undefined) this.#wake(accountId, account);
  }

  /** Ends what has run out, and requests that waited too long. To be called about once a second. */
  sweep(): void {
    const nowMs = this.#nowMs();
    for (const [accountId, account] of this.#accounts) {
      const late = account.waiting.filter((waiter) => waiter.giveUpAtMs <= nowMs);
      account.waiting = account.waiting.filter((waiter) => waiter.giveUpAtMs > nowMs);
      for (const waiter of late) waiter.reject(tooBusy());
      account.beatDue = account.waiting.length > 0;
      if (late.length > 0 || isBusy(account) || account.runsOutAtMs <= nowMs) this.#wake(accountId, account);
      // What was seen of others' holds is kept for as long as it may be of use.
      else if (account.own.size === 0 && nowMs - account.lastUsedMs > INTERNAL_LIMITS.meteringMemoryMaxMs)
        this.#accounts.delete(accountId);
    }
  }

  /** Number of accounts that something is held or waiting for. */
  get accounts(): number {
    return [...this.#accounts.values()].filter((account) => isBusy(account) || account.own.size > 0).length;
  }

  #account(accountId: string): AccountWrites {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      account = newAccountWrites(() => this.#nowMs());
      this.#accounts.set(accountId, account);
    }
    account.lastUsedMs = this.#nowMs();
    return account;
  }

  #wake(accountId: string, account: AccountWrites): void {
    account.again = true;
    if (!account.deciding) void this.#decide(accountId, account);
  }

  /** Takes turns for as long as something came in or one decided something. */
  async #decide(accountId: string, account: AccountWrites): Promise<void> {
    account.deciding = true;
    try {
      for (let attempt = 0; account.again && attempt < ATTEMPTS_MAX; ) {
        account.again = false;
        if ((await this.#turn(accountId, account)) === 'done') attempt = 0;
        else await pause(attempt++);
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

  /** One reading, what it decides, one writing. 'conflict': another instance was faster. */
  async #turn(accountId: string, account: AccountWrites): Promise<'done' | 'conflict'> {
    const ending = new Map(account.ending);
    const renewing = [...account.renewing];
    const waiting = [...account.waiting];
    const { row, next, orphaned, changed } = await this.#read(account, accountId, ending, renewing);
    const turn: Turn = { next, orphaned, changed, decided: [], stored: null };
    const isServed = this.#takeBack(waiting, row, turn);
    await this.#serve(
      accountId,
      waiting.filter((waiter) => !isServed.has(waiter)),
      turn,
    );
    if (!this.#options.isAlone) {
      const hadTurn = turn.decided.length > 0;
      const place = { left: waiting.length - turn.decided.length, hadTurn, beatDue: account.beatDue };
      if (lineUp(next.line, this.#instance, place)) {
        account.beatDue = false;
        turn.changed = true;
      }
    }
    if (turn.changed) {
      const replaced = await this.#replace(accountId, account, next);
      if (replaced !== 'yes') {
        account.again = true;
        return 'conflict';
      }
    }
    this.#settleTurn(accountId, account, turn, ending, renewing, row);
    return 'done';
  }

  /** After an unknown outcome the holds of those who still wait may be there already. */
  #takeBack(waiting: Waiter[], row: WriteHolds, turn: Turn): Set<Waiter> {
    const served = new Set<Waiter>();
    if (row.holds.length === 0) return served;
    const holds = new Map(row.holds.map((hold) => [hold.id, hold]));
    for (const waiter of waiting) {
      const hold = holds.get(waiter.id);
      if (hold === undefined) continue;
      turn.decided.push({ waiter, decision: { outcome: hold.baseline === null ? 'reserved' : 'count' } });
      served.add(waiter);
    }
    return served;
  }

  async #serve(accountId: string, waiting: Waiter[], turn: Turn): Promise<void> {
    const { next, orphaned } = turn;
    const first = next.line[0]?.instance ?? this.#instance;
    if (waiting.length === 0 || first !== this.#instance) return;
    if (next.alone !== null && !orphaned.has(next.alone)) return;
    const others = next.line.length > 1;
    // After the row: what was committed and settled before this reading is not among its holds.
    turn.stored = await this.#options.usage.read(accountId, this.#month());
    const requests = others ? waiting.slice(0, TURN_MAX_REQUESTS) : waiting;
    const before = next.holds.length;
    const held = { holds: next.holds, alone: next.alone, orphaned };
    const decisions = decideWrites(held, turn.stored, requests, INTERNAL_LIMITS.writeHoldsMax);
    next.alone = held.alone;
    turn.changed ||= next.holds.length !== before;
    turn.decided.push(...decisions.map((decision, at) => ({ waiter: requests[at]!, decision })));
  }

  #settleTurn(
    accountId: string,
    account: AccountWrites,
    { decided, stored, next }: Turn,
    ending: Map<string, PromiseWithResolvers<void>>,
    renewing: string[],
    row: WriteHolds,
  ): void {
    for (const [id, ended] of ending) {
      if (account.ending.get(id) === ended) account.ending.delete(id);
      account.own.delete(id);
      ended.resolve();
    }
    for (const id of renewing) account.renewing.delete(id);
    const served = new Set(decided.map(({ waiter }) => waiter));
    const gone = decided.filter(({ waiter }) => !account.waiting.includes(waiter));
    account.waiting = account.waiting.filter((waiter) => !served.has(waiter));
    for (const { waiter, decision } of decided) this.#answer(account, waiter, decision);
    // Nobody is there any more to take what was given them.
    for (const { waiter, decision } of gone)
      if (decision.outcome === 'reserved' || decision.outcome === 'count') void this.settle(accountId, waiter.id);
    const there = new Set(next.holds.map(({ id }) => id));
    const hasMadeRoom = row.holds.some(({ id }) => !there.has(id));
    const hasMoved = next.line[0]?.instance !== row.line[0]?.instance;
    if ((hasMadeRoom || hasMoved) && next.line.some(({ instance }) => instance !== this.#instance))
      this.#options.onRoom(accountId);
    // What was decided changes what the next in line find; a turn that decided nothing waits for
    // something to happen.
    if (account.waiting.length > 0 && (decided.length > 0 || (stored === null && hasMoved))) account.again = true;
  }

  #answer(account: AccountWrites, { id, need, allowance, resolve, reject }: Waiter, decision: Decision): void {
    if (decision.outcome === 'refused') {
      reject(this.#refusal(decision.limit, decision.used, need, allowance));
    } else if (decision.outcome === 'uncertain') {
      reject(roomUncertain(decision.forMs));
    } else {
      account.own.add(id);
      resolve(decision.outcome === 'reserved' ? { outcome: 'reserved', id } : { outcome: 'count', ticket: id });
    }
  }

  /**
   * The row, and what it is without the holds that have ended or run out; `orphaned` says how long
   * those have left of whose holders nothing is heard.
   */
  async #read(
    account: AccountWrites,
    accountId: string,
    ending: ReadonlyMap<string, unknown> = new Map(),
    renewing: string[] = [],
  ): Promise<{ row: WriteHolds; next: WriteHolds; orphaned: Map<string, number>; changed: boolean }> {
    const askedAtMs = this.#nowMs();
    const ownBefore = [...account.own];
    const row = await this.#options.usage.readHolds(accountId).finally(() => account.sightings.read(askedAtMs));
    const waiting = new Set(account.waiting.map(({ id }) => id));
    account.sightings.observe(row);
    const isOver = (hold: WriteHold): boolean => {
      if (ending.has(hold.id)) return true;
      if (this.#options.isAlone && !account.own.has(hold.id) && !waiting.has(hold.id)) return true;
      return account.sightings.leftMs(hold, askedAtMs) <= 0;
    };
    const isGone = (waiting: WaitingInstance): boolean =>
      waiting.instance !== this.#instance && account.sightings.isGone(waiting, askedAtMs);
    const { next, changed } = nextRow(row, { isOver, isGone, renewed: new Set(renewing) });
    const there = new Set(next.holds.map(({ id }) => id));
    for (const id of ownBefore) if (!there.has(id)) account.own.delete(id);
    const isOrphaned = (hold: WriteHold) =>
      !renewing.includes(hold.id) && account.sightings.isOrphaned(hold, askedAtMs);
    const orphaned = new Map(
      next.holds.filter(isOrphaned).map((hold) => [hold.id, account.sightings.leftMs(hold, askedAtMs)] as const),
    );
    account.runsOutAtMs = askedAtMs + Math.min(...orphaned.values());
    return { row, next, orphaned, changed };
  }

  async #replace(accountId: string, account: AccountWrites, next: WriteHolds): Promise<'yes' | 'no' | 'unknown'> {
    try {
      if (!(await this.#options.usage.replaceHolds(accountId, next))) return 'no';
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

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  #refusal(limit: 'writes' | 'vectors', used: number, need: WriteNeed, allowance: Allowance): ProvecError {
    const { clock, pricingUrl } = this.#options;
    return planLimitReached({ limit, used, requested: need[limit] }, allowance, clock, pricingUrl);
  }
}

/** So that instances that met do not go on meeting. */
async function pause(attempt: number): Promise<void> {
  await delay(Math.random() * Math.min(CONFLICT_PAUSE_MAX_MS, 2 ** attempt));
}
