/**
 * Anchors all collections, on one or more instances. The instance that gets a request stores it,
 * the instance in charge of the collection writes the root to the ledger, and waiting callers learn
 * of it from the row.
 *
 * Everything that is due is in the store. Each instance looks there every second for collections
 * that it is in charge of, so anchoring continues even if messages are lost or instances die;
 * messages only make it faster. While the store cannot be reached nothing is anchored, and each
 * instance retries every second.
 */

import type { AnchoringStats } from '../../contracts/actions/anchoring.ts';
import { ProvecError } from '../../lib/errors.ts';
import type { AccountId, CollectionId } from '../../lib/ids.ts';
import { cutContains } from '../../lib/shard/cut.ts';
import type { Cut } from '../../lib/shard/head.ts';
import { pause } from '../../lib/time/timers.ts';
import type { AnchorRow, ConfirmedAnchor } from '../../store/anchors.ts';
import type { AnchoringContext, AnchoringOptions } from './context.ts';
import { InstanceRegistry } from './instance-registry.ts';
import { AnchorRequests } from './outbox/anchor-requests.ts';
import { closeRow, haltRow, resumeRow } from './outbox/decisions.ts';
import { Outbox } from './outbox/outbox.ts';
import { Schedule } from './outbox/schedule.ts';
import { CatchUp } from './recovery/catch-up.ts';
import { describeAccount, unsoundHeadReason } from './recovery/reconciliation.ts';
import { Waiters } from './waiters.ts';

const LOOK_EVERY_MS = 1_000;

export class Anchoring {
  readonly #context: AnchoringContext;
  readonly #schedule: Schedule;
  readonly #outboxes = new Map<string, Outbox>();
  readonly #membership: InstanceRegistry;
  readonly #requests: AnchorRequests;
  readonly #catchUp: CatchUp;
  readonly #stopped = new AbortController();
  #looking: Promise<void> = Promise.resolve();

  constructor(options: AnchoringOptions) {
    const { store, clock } = options;
    this.#membership = new InstanceRegistry(store.anchors, clock);
    this.#context = {
      ...options,
      waiters: new Waiters(store.anchors, clock),
      counts: { confirmed: 0, failures: 0 },
      isInCharge: (id) => this.#membership.isInCharge(id),
    };
    this.#requests = new AnchorRequests(this.#context, (id) => this.#nudge(id));
    this.#catchUp = new CatchUp(this.#context, this, this.#stopped.signal);
    this.#schedule = new Schedule(this.#context, (id) => this.#outboxes.delete(id));
  }

  /** Resolves when everything this instance is in charge of has been checked once. */
  async start(): Promise<void> {
    // `#lookOn` tries again and logs failures.
    if (this.#context.isShared) await this.#membership.look(this.#context.counts).catch(() => undefined);
    this.#looking = this.#lookOn();
    await this.#catchUp.start();
  }

  /**
   * Requests anchors for the logged state of an account's collections, if its plan has anchoring.
   * Called when the plan may have changed. Throws StoreError.
   */
  takeUpAccount(accountId: AccountId): Promise<void> {
    return this.#catchUp.account(accountId);
  }

  /** The same for the collections of every account, in the background. */
  takeUpAll(): void {
    this.#catchUp.again();
  }

  /** Stops without waiting for the ledger. The next start or another instance continues. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#context.waiters.release();
    await Promise.all([this.#schedule.stop(), this.#catchUp.ended(), this.#looking]);
    if (this.#context.isShared) await this.#membership.leave();
  }

  /**
   * Requests an anchor and returns the confirmed root that contains `cut`, or null if there is none
   * after `waitMs`; the request stays. Throws StoreError.
   */
  async submit(collectionId: CollectionId, cut: Cut, waitMs: number): Promise<ConfirmedAnchor | null> {
    const startMs = this.#context.clock.monotonicMs();
    const row = await this.want(collectionId, cut);
    return this.#confirmed(row, cut, waitMs - (this.#context.clock.monotonicMs() - startMs));
  }

  /**
   * Like `submit`, but requests and writes nothing. Returns null at once if no anchor of the
   * collection was ever requested. Throws StoreError.
   */
  async confirmation(collectionId: CollectionId, cut: Cut, waitMs: number): Promise<ConfirmedAnchor | null> {
    const startMs = this.#context.clock.monotonicMs();
    const row = await this.#context.store.anchors.get(collectionId);
    return this.#confirmed(row, cut, waitMs - (this.#context.clock.monotonicMs() - startMs));
  }

  /**
   * Like `AnchorRequests.want`, but halts the collection if a head was not written by the service
   * or follows a contradiction.
   */
  async want(collectionId: CollectionId, cut: Cut): Promise<AnchorRow | null> {
    const reason = unsoundHeadReason(cut) ?? (await this.#contradiction(collectionId, cut));
    if (reason === null) return this.#requests.want(collectionId, cut);
    await this.halt(collectionId, reason);
    return this.#context.store.anchors.get(collectionId);
  }

  /** Stops anchoring a collection until an operator decides. Throws StoreError. */
  async halt(collectionId: CollectionId, reason: string): Promise<void> {
    await haltRow(this.#context, collectionId, reason);
    this.#decided(collectionId);
  }

  /**
   * Returns what the ledger shows of a collection now, for `resume`. Throws UNAVAILABLE if the
   * ledger does not answer, since the operator's decision depends on it.
   */
  async shown(collectionId: CollectionId): Promise<string> {
    const { ledger, store } = this.#context;
    try {
      const expected = await store.anchors.get(collectionId);
      return describeAccount((await ledger.survey(collectionId, expected)).account);
    } catch (cause) {
      throw new ProvecError('UNAVAILABLE', 'The ledger cannot be reached to see what it shows; decide once it can.', {
        cause,
      });
    }
  }

  /** Accepts the shards' state, although the ledger shows `shown`. Throws StoreError. */
  async resume(collectionId: CollectionId, shown: string): Promise<void> {
    await resumeRow(this.#context, collectionId, shown, (cut) => this.want(collectionId, cut));
    this.#decided(collectionId);
  }

  /** Closes the collection's account and forgets its row, in the background. Throws StoreError. */
  async close(collectionId: CollectionId): Promise<void> {
    await closeRow(this.#context.store.anchors, collectionId);
    this.#decided(collectionId);
  }

  /** Handles a message from another instance that a row has changed. */
  rowChanged(collectionId: CollectionId): void {
    this.#context.waiters.rowChanged(collectionId);
    this.#wake(collectionId);
  }

  /** Returns the statistics of all live instances. Throws StoreError. */
  async stats(): Promise<AnchoringStats> {
    const { store, clock, isShared, unsound } = this.#context;
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
    const counts = isShared ? await this.#membership.total(this.#context.counts) : this.#context.counts;
    return { pending, oldestPendingSeconds: oldestMs / 1000, halted, ...counts };
  }

  /** Returns the contradiction before `cut`; null if none, or if an operator has decided. */
  async #contradiction(collectionId: CollectionId, cut: Cut): Promise<string | null> {
    if (!cut.some(({ contradicted }) => contradicted)) return null;
    const [first] = await this.#context.store.contradictions.list(collectionId);
    return first?.reason ?? null;
  }

  async #confirmed(row: AnchorRow | null, cut: Cut, leftMs: number): Promise<ConfirmedAnchor | null> {
    // A halted row is not awaited: an operator's decision will request whatever the log holds then.
    if (row === null || row.halted || row.closing) return null;
    if (row.confirmed && cutContains(row.confirmed.cut, cut)) return row.confirmed;
    if (this.#stopped.signal.aborted || leftMs <= 0) return null;
    return this.#context.waiters.wait(row.collectionId, cut, leftMs);
  }

  #decided(collectionId: CollectionId): void {
    this.rowChanged(collectionId);
    this.#context.tell(collectionId);
  }

  #nudge(collectionId: CollectionId): void {
    if (this.#membership.isInCharge(collectionId)) this.#wake(collectionId);
    else this.#context.tell(collectionId);
  }

  #wake(collectionId: CollectionId): void {
    if (this.#stopped.signal.aborted || !this.#membership.isInCharge(collectionId)) return;
    const outbox = this.#outboxes.get(collectionId) ?? new Outbox(this.#context, collectionId);
    this.#outboxes.set(collectionId, outbox);
    this.#schedule.wake(outbox);
  }

  async #lookOn(): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#look();
        failures = 0;
      } catch (error) {
        // Logs the first, second, fourth, eighth, ... failure in a row.
        if (!signal.aborted && (failures & (failures + 1)) === 0) {
          this.#context.log.warn({ err: error }, 'could not look for collections to anchor; trying again');
        }
        failures += 1;
      }
      await pause(LOOK_EVERY_MS, signal);
    }
  }

  async #look(): Promise<void> {
    const { store, isShared } = this.#context;
    // When instances come or go, not everything they leave behind is marked as due in the store.
    if (isShared && (await this.#membership.look(this.#context.counts))) this.#catchUp.again();
    await this.#requests.again();
    for await (const page of store.anchors.open('due')) for (const { collectionId } of page) this.#wake(collectionId);
  }
}
