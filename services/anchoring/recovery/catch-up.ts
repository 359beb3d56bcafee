import { setImmediate as nextTurn } from 'node:timers/promises';
import { getOrThrow } from '../../../lib/checked-access.ts';
import type { AccountId, CollectionId } from '../../../lib/ids.ts';
import { committedCut, cutContains } from '../../../lib/shard/cut.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import { pause } from '../../../lib/time/timers.ts';
import type { AnchorRow } from '../../../store/anchors.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { StoreError } from '../../../store/port.ts';
import type { AnchoringContext } from '../context.ts';
import { beginIndexCheck } from '../outbox/row-index-check.ts';
import { NOT_DELETED, wasDeleted } from './deletion.ts';
import { mayRetire, retire } from './retire.ts';

const PAUSE = { minMs: 250, maxMs: 30_000 };
const AGAIN_MS = 600_000;

/** What to do about each finding. */
interface Remedies {
  want(collectionId: CollectionId, cut: Cut): Promise<unknown>;
  close(collectionId: CollectionId): Promise<void>;
  halt(collectionId: CollectionId, reason: string): Promise<void>;
}

/**
 * Finds collections whose anchor was never requested, accounts of deleted collections, rows that
 * are no longer anchored (retire.ts), and wrong index entries (row-index-check.ts). A request is
 * sent only once, and its sender may die, so this runs at the start, when instances come or go, and
 * every ten minutes.
 */
export class CatchUp {
  readonly #context: AnchoringContext;
  readonly #remedies: Remedies;
  readonly #signal: AbortSignal;
  #running: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #timer: NodeJS.Timeout | undefined;

  /** `signal` stops it. */
  constructor(context: AnchoringContext, remedies: Remedies, signal: AbortSignal) {
    this.#context = context;
    this.#remedies = remedies;
    this.#signal = signal;
    signal.addEventListener('abort', () => clearTimeout(this.#timer), { once: true });
  }

  /** Resolves when everything has been checked once. */
  start(): Promise<void> {
    this.again();
    return this.ended();
  }

  /** Checks everything again, after the check that is running. */
  again(): void {
    const signal = this.#signal;
    if (this.#isWaiting || signal.aborted) return;
    this.#isWaiting = true;
    clearTimeout(this.#timer);
    this.#running = this.#running.then(async () => {
      this.#isWaiting = false;
      await this.#untilDone();
      if (signal.aborted || this.#isWaiting) return;
      this.#timer = setTimeout(() => this.again(), AGAIN_MS).unref();
    });
  }

  /** Resolves when nothing runs any more. Call after the signal. */
  ended(): Promise<void> {
    return this.#running;
  }

  /** Checks one account's collections. Throws StoreError. */
  async account(accountId: AccountId): Promise<void> {
    const { catalog } = this.#context.store;
    const isAnchored = await this.#isAnchored(accountId);
    for (const collection of await catalog.listCollections(accountId)) {
      if (this.#signal.aborted) return;
      await this.#bring(collection, isAnchored);
    }
  }

  async #untilDone(): Promise<void> {
    const signal = this.#signal;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#all();
        return;
      } catch (error) {
        this.#context.log.warn({ err: error }, 'could not catch up on all collections to anchor; trying again');
        await pause(backoffMs(failures, PAUSE), signal);
      }
    }
  }

  async #all(): Promise<void> {
    const { store } = this.#context;
    const signal = this.#signal;
    const filing = await beginIndexCheck(this.#context);
    for await (const rows of store.anchors.all()) {
      for (const row of rows) {
        if (signal.aborted) return;
        filing.at(row);
        await this.#closeIfDeleted(row);
      }
    }
    await filing.end();
    const anchored = new Map<string, boolean | null>();
    for await (const collections of store.catalog.allCollections()) {
      for (const collection of collections) {
        if (signal.aborted) return;
        const { accountId } = collection;
        if (!anchored.has(accountId)) anchored.set(accountId, await this.#isAnchored(accountId));
        // There may be very many collections; lets requests run in between.
        await nextTurn();
        await this.#bring(collection, getOrThrow(anchored, accountId));
      }
    }
  }

  async #bring(collection: CollectionRow, isAnchored: boolean | null): Promise<void> {
    if (!this.#context.isInCharge(collection.id)) return;
    if (isAnchored) await this.#wantIfNewer(collection);
    else if (isAnchored === false) await this.#retire(collection);
  }

  async #closeIfDeleted(row: AnchorRow): Promise<void> {
    const { store, isInCharge } = this.#context;
    const { collectionId } = row;
    if (row.closing || row.halted || !isInCharge(collectionId)) return;
    // A damaged catalog row does not mean that the collection is gone.
    if ((await unlessDamaged(store.catalog.getCollection(collectionId), undefined)) !== null) return;
    if (await wasDeleted(row, store)) await this.#remedies.close(collectionId);
    else await this.#remedies.halt(collectionId, NOT_DELETED);
  }

  async #wantIfNewer(collection: CollectionRow): Promise<void> {
    const { store } = this.#context;
    const row = await store.anchors.get(collection.id);
    if (row?.halted) return;
    const cut = await committedCut(store.log, collection);
    const isAnchored = row?.confirmed ? cutContains(row.confirmed.cut, cut) : cut.every(({ version }) => version === 0);
    if (!isAnchored) await this.#remedies.want(collection.id, cut);
  }

  async #retire({ id, accountId }: CollectionRow): Promise<void> {
    const row = await this.#context.store.anchors.get(id);
    // Reads the plan again, since it may have changed during the long check.
    if (!row || !mayRetire(row) || (await this.#isAnchored(accountId)) !== false) return;
    await retire(row, this.#context);
  }

  /**
   * Returns whether the account's plan has anchoring. Null if either is missing or damaged,
   * and then its rows stay as they are.
   */
  async #isAnchored(accountId: AccountId): Promise<boolean | null> {
    const { store, plans } = this.#context;
    const account = await unlessDamaged(store.catalog.getAccount(accountId), null);
    return account && (await unlessDamaged(plans.isAnchored(account.plan), null));
  }
}

/** Returns the value read, or `damaged` if the service did not write it. */
async function unlessDamaged<T, D>(reading: Promise<T>, damaged: D): Promise<T | D> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'damaged') return damaged;
    throw error;
  }
}
