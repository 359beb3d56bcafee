/**
 * Anchoring of all collections, on one of any number of instances: what is wanted is written down
 * on whichever is asked, the one in charge brings it onto the ledger, and whoever waits learns of
 * it from the row.
 *
 * Promises: everything that is due stands in the store. An instance looks there every second for
 * what it is in charge of, so that whatever is told or lost, and whoever dies, somebody goes on;
 * being told only makes it sooner. How it fails: while the store cannot be reached nothing is
 * anchored, and it is looked for again every second.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AnchoringStats } from '../../lib/actions/anchoring.ts';
import type { Plans } from '../../lib/plans.ts';
import type { Clock } from '../../lib/runtime.ts';
import { committedCut } from '../../lib/shard/committed-cut.ts';
import { contains } from '../../lib/shard/cut.ts';
import type { Cut, ShardHead } from '../../lib/shard/head.ts';
import type { AnchorRow, Confirmed } from '../../lib/store/anchors.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { Store } from '../../lib/store/port.ts';
import type { LedgerClient } from './ledger/ledger-client.ts';
import { Membership } from './membership.ts';
import { AnchorRequests } from './outbox/anchor-requests.ts';
import { Decisions } from './outbox/decisions.ts';
import { Outbox, type OutboxContext, type OutboxStep } from './outbox/outbox.ts';
import { Schedule } from './outbox/schedule.ts';
import { CatchUp } from './recovery/catch-up.ts';
import { wasDeleted } from './recovery/deletion.ts';
import { shownBy } from './recovery/reconciliation.ts';
import { unsoundness } from './recovery/unsoundness.ts';
import { Waiters } from './waiters.ts';

const LOOK_EVERY_MS = 1_000;

export interface AnchoringOptions {
  ledger: LedgerClient;
  store: Store;
  plans: Plans;
  clock: Clock;
  log: Logger;
  /** Whether other instances may run on the same store. */
  isShared: boolean;
  /** Collections that are halted though the store does not know (row-seal.ts). */
  unsound: ReadonlySet<string>;
  /** The shards' own heads at a cut; null where a shard cannot say. */
  headsAt(collection: CollectionRow, cut: Cut): Promise<(ShardHead | null)[]>;
  /** Tells the other instances that a collection's row has changed; may be lost. */
  tell(collectionId: string): void;
  /** For tests: awaited at the instants between which a process can die. */
  onStep?(step: OutboxStep, collectionId: string): Promise<void>;
}

export class Anchoring {
  readonly #options: AnchoringOptions;
  readonly #context: OutboxContext;
  readonly #schedule: Schedule;
  readonly #outboxes = new Map<string, Outbox>();
  readonly #membership: Membership;
  readonly #requests: AnchorRequests;
  readonly #waiters: Waiters;
  readonly #decisions: Decisions;
  readonly #catchUp: CatchUp;
  readonly #stopped = new AbortController();
  readonly #counts = { confirmed: 0, failures: 0 };
  #looking: Promise<void> = Promise.resolve();

  constructor(options: AnchoringOptions) {
    const { ledger, store, plans, clock, log, headsAt, tell, onStep } = options;
    const { anchors, catalog, contradictions } = store;
    const address = (collectionId: string) => ledger.address(collectionId);
    const collection = (id: string) => catalog.getCollection(id);
    const loggedCut = (row: CollectionRow) => committedCut(store.log, row);
    this.#options = options;
    this.#membership = new Membership(anchors, clock);
    const isInCharge = (id: string) => this.#membership.isInCharge(id);
    this.#waiters = new Waiters(anchors, clock);
    this.#requests = new AnchorRequests({
      anchors,
      clock,
      address,
      isThere: async (id) => (await collection(id)) !== null,
      onWanted: (id) => this.#nudge(id),
    });
    const want = (id: string, cut: Cut) => this.#want(id, cut);
    this.#decisions = new Decisions({ anchors, contradictions, clock, log, address, collection, loggedCut, want });
    this.#catchUp = new CatchUp({
      store,
      plans,
      log,
      isInCharge,
      unsound: options.unsound,
      loggedCut,
      want,
      headsAt,
      close: (id) => this.close(id),
      halt: (id, reason) => this.halt(id, reason),
      signal: this.#stopped.signal,
    });
    this.#schedule = new Schedule(log, {
      onFailure: () => this.#fail(),
      onDone: ({ collectionId }) => this.#outboxes.delete(collectionId),
    });
    this.#context = {
      ledger,
      anchors,
      contradictions,
      clock,
      log,
      isInCharge,
      headsAt,
      onStep,
      collection,
      wasDeleted: (row) => wasDeleted(row, store),
      loggedCut,
      onConfirmed: () => {
        this.#counts.confirmed += 1;
      },
      onFailure: () => this.#fail(),
      onAnswer: (row, isNews) => {
        this.#waiters.settle(row);
        if (isNews) tell(row.collectionId);
      },
      onClosed: (id) => {
        this.#waiters.release([id]);
        tell(id);
      },
    };
  }

  /**
   * Resolves when everything that this instance is in charge of has been looked at once; tries
   * until it could.
   */
  async start(): Promise<void> {
    if (this.#options.isShared) await this.#membership.look(this.#counts).catch(() => undefined);
    this.#looking = this.#lookOn();
    await this.#catchUp.start();
  }

  /**
   * AnchorRequests what the log of an account's collections holds, where its plan has anchoring:
   * the plan may just have changed. Throws StoreError.
   */
  takeUpAccount(accountId: string): Promise<void> {
    return this.#catchUp.account(accountId);
  }

  /**
   * Ends without waiting for the ledger; the next start, or another instance, goes on where this
   * one stops.
   */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#waiters.release();
    await Promise.all([this.#schedule.stop(), this.#catchUp.ended(), this.#looking]);
    if (this.#options.isShared) await this.#membership.leave();
  }

  /**
   * The confirmed root that contains `cut`, or null when there is none after `waitMs`; the cut
   * stays wanted. Throws StoreError.
   */
  async submit(collectionId: string, cut: Cut, waitMs: number): Promise<Confirmed | null> {
    const startMs = this.#options.clock.monotonicMs();
    const row = await this.#want(collectionId, cut);
    // The operator's decision wants what the log holds then.
    if (row === null || row.halted || row.closing) return null;
    if (row.confirmed && contains(row.confirmed.cut, cut)) return row.confirmed;
    if (this.#stopped.signal.aborted) return null;
    const leftMs = waitMs - (this.#options.clock.monotonicMs() - startMs);
    return leftMs > 0 ? this.#waiters.wait(collectionId, cut, leftMs) : null;
  }

  /** Stops anchoring of a collection until an operator decides. Throws StoreError. */
  async halt(collectionId: string, reason: string): Promise<void> {
    await this.#decisions.halt(collectionId, reason);
    this.#decided(collectionId);
  }

  /**
   * What the ledger shows of a collection now, for `resume`. Throws LedgerUnreachableError, the
   * ledger's own errors, or StoreError.
   */
  async shown(collectionId: string): Promise<string> {
    const { ledger, store } = this.#options;
    const believed = await store.anchors.get(collectionId);
    return shownBy((await ledger.survey(collectionId, believed)).account);
  }

  /**
   * What the shards hold now is right, although the ledger shows `shown`: it is anchored next.
   * Throws StoreError.
   */
  async resume(collectionId: string, shown: string): Promise<void> {
    await this.#decisions.resume(collectionId, shown);
    this.#decided(collectionId);
  }

  /**
   * Has the collection's account closed and its row forgotten, in the background, until it is done.
   * Throws StoreError.
   */
  async close(collectionId: string): Promise<void> {
    await this.#decisions.close(collectionId);
    this.#decided(collectionId);
  }

  /** Another instance says that the row has changed. */
  told(collectionId: string): void {
    this.#waiters.tell(collectionId);
    this.#wake(collectionId);
  }

  /** Of all instances that live. Throws StoreError. */
  async stats(): Promise<AnchoringStats> {
    const { store, clock, isShared, unsound } = this.#options;
    let pending = 0;
    let oldestAt = Number.POSITIVE_INFINITY;
    for await (const page of store.anchors.open('due')) {
      for (const { wantedAt } of page) {
        if (wantedAt === null) continue;
        pending += 1;
        oldestAt = Math.min(oldestAt, Date.parse(wantedAt));
      }
    }
    let halted = unsound.size;
    for await (const page of store.anchors.open('halted'))
      for (const { collectionId } of page) if (!unsound.has(collectionId)) halted += 1;
    const oldestMs = pending === 0 ? 0 : Math.max(0, clock.wallMs() - oldestAt);
    const counts = isShared ? await this.#membership.total(this.#counts) : this.#counts;
    return { pending, oldestPendingSeconds: oldestMs / 1000, halted, ...counts };
  }

  /**
   * As `AnchorRequests.want`; a head that the service did not write, or that comes after a
   * contradiction, halts the collection instead.
   */
  async #want(collectionId: string, cut: Cut): Promise<AnchorRow | null> {
    const reason = unsoundness(cut) ?? (await this.#contradiction(collectionId, cut));
    if (reason === null) return this.#requests.want(collectionId, cut);
    await this.halt(collectionId, reason);
    return this.#options.store.anchors.get(collectionId);
  }

  /** The contradiction that `cut` comes after; null: none, or an operator has decided since. */
  async #contradiction(collectionId: string, cut: Cut): Promise<string | null> {
    if (!cut.some(({ contradicted }) => contradicted)) return null;
    const [first] = await this.#options.store.contradictions.list(collectionId);
    return first?.reason ?? null;
  }

  #decided(collectionId: string): void {
    this.#waiters.tell(collectionId);
    this.#wake(collectionId);
    this.#options.tell(collectionId);
  }

  #nudge(collectionId: string): void {
    if (this.#membership.isInCharge(collectionId)) this.#wake(collectionId);
    else this.#options.tell(collectionId);
  }

  #wake(collectionId: string): void {
    if (this.#stopped.signal.aborted || !this.#membership.isInCharge(collectionId)) return;
    let outbox = this.#outboxes.get(collectionId);
    if (!outbox) {
      outbox = new Outbox(this.#context, collectionId);
      this.#outboxes.set(collectionId, outbox);
    }
    this.#schedule.wake(outbox);
  }

  #fail(): void {
    this.#counts.failures += 1;
  }

  async #lookOn(): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#look();
        failures = 0;
      } catch (error) {
        // The first, second, fourth ... in a row.
        if (!signal.aborted && (failures & (failures + 1)) === 0) {
          this.#options.log.warn({ err: error }, 'could not look for collections to anchor; trying again');
        }
        failures += 1;
      }
      await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { store, isShared } = this.#options;
    // Of what another leaves or brings along not everything is known to the store as due.
    if (isShared && (await this.#membership.look(this.#counts))) this.#catchUp.again();
    await this.#requests.again();
    for await (const page of store.anchors.open('due')) for (const { collectionId } of page) this.#wake(collectionId);
  }
}
