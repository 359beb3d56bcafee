import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Plans } from '../../../lib/plans.ts';
import { contains } from '../../../lib/shard/cut.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { AnchorRow } from '../../../lib/store/anchors.ts';
import type { CollectionRow } from '../../../lib/store/catalog.ts';
import { type Store, StoreError } from '../../../lib/store/port.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import { Filing } from '../outbox/filing.ts';
import { NOT_DELETED, wasDeleted } from './deletion.ts';
import { mayRetire, type RetireOptions, retire } from './retire.ts';

const PAUSE = { minMs: 250, maxMs: 30_000 };
const AGAIN_MS = 600_000;

export interface CatchUpOptions {
  store: Store;
  plans: Plans;
  log: Logger;
  isInCharge(collectionId: string): boolean;
  /** Collections that are halted though the store does not know (row-seal.ts). */
  unsound: ReadonlySet<string>;
  /** What the log holds. */
  loggedCut(collection: CollectionRow): Promise<Cut>;
  want(collectionId: string, cut: Cut): Promise<unknown>;
  headsAt: RetireOptions['headsAt'];
  close(collectionId: string): Promise<void>;
  halt(collectionId: string, reason: string): Promise<void>;
  /** Ends it. */
  signal: AbortSignal;
}

/**
 * Finds what should be anchored and was never asked for: roots that the log holds past the
 * confirmed one, accounts of deleted collections; what is anchored no more (retire.ts); and rows
 * that are not found by what they say themselves (filing.ts). What wants an anchor is told once,
 * and whoever was to tell may have died: so it is looked for at the start, when instances come or
 * go, and from time to time.
 */
export class CatchUp {
  readonly #options: CatchUpOptions;
  #running: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CatchUpOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => clearTimeout(this.#timer), { once: true });
  }

  /** Resolves when all was looked at once. */
  start(): Promise<void> {
    this.again();
    return this.#running;
  }

  /** Looks at everything once more, after the look that goes on now. */
  again(): void {
    const { signal } = this.#options;
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

  /** Resolves when nothing runs any more, after the signal. */
  ended(): Promise<void> {
    return this.#running;
  }

  /** Looks at one account's collections. Throws StoreError. */
  async account(accountId: string): Promise<void> {
    const { store, signal } = this.#options;
    const isAnchored = await this.#isAnchored(accountId);
    for (const collection of await store.catalog.listCollections(accountId)) {
      if (signal.aborted) return;
      await this.#bring(collection, isAnchored);
    }
  }

  async #untilDone(): Promise<void> {
    const { log, signal } = this.#options;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#all();
        return;
      } catch (error) {
        log.warn({ err: error }, 'could not catch up on all collections to anchor; trying again');
        await delay(backoffMs(failures, PAUSE), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #all(): Promise<void> {
    const { store, signal, log, isInCharge, unsound } = this.#options;
    const filing = await Filing.begin({ anchors: store.anchors, log, isInCharge, unsound });
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
        // There may be very many, and requests must get in between.
        await nextTurn();
        await this.#bring(collection, anchored.get(accountId)!);
      }
    }
  }

  async #bring(collection: CollectionRow, isAnchored: boolean | null): Promise<void> {
    if (isAnchored) await this.#wantIfNewer(collection);
    else if (isAnchored === false) await this.#retire(collection);
  }

  async #closeIfDeleted(row: AnchorRow): Promise<void> {
    const { store, isInCharge, close, halt } = this.#options;
    const { collectionId } = row;
    if (row.closing || row.halted || !isInCharge(collectionId)) return;
    if (await this.#isThere(collectionId)) return;
    if (await wasDeleted(row, store)) await close(collectionId);
    else await halt(collectionId, NOT_DELETED);
  }

  /** A row of the catalog that the service did not write is no absence. */
  async #isThere(collectionId: string): Promise<boolean> {
    try {
      return (await this.#options.store.catalog.getCollection(collectionId)) !== null;
    } catch (error) {
      if (isDamaged(error)) return true;
      throw error;
    }
  }

  async #wantIfNewer(collection: CollectionRow): Promise<void> {
    const { store, isInCharge, loggedCut, want } = this.#options;
    if (!isInCharge(collection.id)) return;
    const row = await store.anchors.get(collection.id);
    if (row?.halted) return;
    const cut = await loggedCut(collection);
    const isAnchored = row?.confirmed ? contains(row.confirmed.cut, cut) : cut.every(({ version }) => version === 0);
    if (!isAnchored) await want(collection.id, cut);
  }

  async #retire({ id, accountId }: CollectionRow): Promise<void> {
    const { store, isInCharge, headsAt } = this.#options;
    if (!isInCharge(id)) return;
    const row = await store.anchors.get(id);
    // The plan as it is by now: a look at all collections takes its time.
    if (!row || !mayRetire(row) || (await this.#isAnchored(accountId)) !== false) return;
    await retire(row, { store, anchors: store.anchors, headsAt });
  }

  /** Null where nothing is to be known of the account: then all stays as it is. */
  async #isAnchored(accountId: string): Promise<boolean | null> {
    const { store, plans } = this.#options;
    try {
      const account = await store.catalog.getAccount(accountId);
      return account && plans[account.plan].anchoring;
    } catch (error) {
      if (isDamaged(error)) return null;
      throw error;
    }
  }
}

const isDamaged = (error: unknown): boolean => error instanceof StoreError && error.kind === 'damaged';
