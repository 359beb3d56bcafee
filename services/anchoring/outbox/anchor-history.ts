/**
 * History of a collection's confirmed roots, each with a seal of a holder of the ledger's keypair.
 *
 * An item is stored in the same step as the row that confirms it, so a killed process loses none
 * and stores none twice. Readers get forged and missing items as faults, never as roots. See
 * docs/internals/anchoring.md.
 */
import type { AnchorHistoryPage } from '../../../contracts/actions/anchoring.ts';
import { lastOf } from '../../../lib/checked-access.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import type { Seals } from '../../../lib/secret/seals.ts';
import {
  type AnchorHistoryItem,
  type AnchorRow,
  type AnchorStore,
  type ConfirmedAnchor,
  historyPositionOf,
} from '../../../store/anchors.ts';
import { StoreError } from '../../../store/port.ts';
import { HistoryCheck, isSealedItem, type PlacedItem, payloadOfItem, unverified } from './history-check.ts';

/** Number of sealed items of a collection that are kept, and how often others are removed. */
interface HistoryBounds {
  kept: number;
  trimEvery: number;
}

const BOUNDS: HistoryBounds = { kept: 100_000, trimEvery: 1_000 };
/** Readings of a history whose row changes meanwhile. */
const READINGS_MAX = 3;

/** Items around a page, newest first. */
interface Reading {
  /** Item above the page; null on the first page, and if it is gone. */
  above: AnchorHistoryItem | null;
  items: AnchorHistoryItem[];
  /** Item below the page; undefined on the last page. */
  below: AnchorHistoryItem | undefined;
  newest: AnchorHistoryItem | undefined;
}

export class AnchorHistory {
  readonly #anchors: Pick<AnchorStore, 'history' | 'trimHistory'>;
  readonly #seals: Seals | null;
  readonly #rowOf: (collectionId: CollectionId) => Promise<AnchorRow | null>;
  readonly #bounds: HistoryBounds;

  /** `seals` is null without the keypair. `rowOf` reads a row and verifies its seal. */
  constructor(
    anchors: Pick<AnchorStore, 'history' | 'trimHistory'>,
    seals: Seals | null,
    rowOf: (collectionId: CollectionId) => Promise<AnchorRow | null>,
    bounds = BOUNDS,
  ) {
    this.#anchors = anchors;
    this.#seals = seals;
    this.#rowOf = rowOf;
    this.#bounds = bounds;
  }

  /**
   * Returns an item with its place after the newest one. The caller stores it with a row that was
   * read before: another instance that adds an item meanwhile changes that row. Throws StoreError.
   */
  async placed(collectionId: CollectionId, item: AnchorHistoryItem): Promise<PlacedItem> {
    const seals = this.#seals;
    if (seals === null) throw new Error('a root was confirmed without the keypair');
    const [newest] = await this.#anchors.history(collectionId, 1, null);
    const position = newest === undefined ? 1 : historyPositionOf(newest) + 1;
    if (!Number.isSafeInteger(position))
      throw new StoreError('damaged', 'The history of an anchor ends at a position that the service did not write.');
    const start = newest !== undefined && isSealedItem(collectionId, newest, seals) ? newest.place.start : position;
    const seal = seals.sealHex(payloadOfItem(collectionId, item, { position, start }));
    return { ...item, place: { position, start, seal } };
  }

  /** Removes the items that are no longer kept, if that is due after `item`. Throws StoreError. */
  async trim(collectionId: CollectionId, { place: { position, start } }: PlacedItem): Promise<void> {
    const { kept, trimEvery } = this.#bounds;
    const count = position - start + 1;
    if (count > kept && count % trimEvery === 0) await this.#anchors.trimHistory(collectionId, position - kept + 1);
  }

  /**
   * Returns the items with a position below `before` (null: all), newest first. Throws StoreError.
   */
  async page(collectionId: CollectionId, limit: number, before: number | null): Promise<AnchorHistoryPage> {
    for (let readings = 1; ; readings++) {
      // The row is read first: what is confirmed meanwhile makes the history newer, never older.
      const row = before === null ? await this.#rowOf(collectionId) : null;
      const reading = await this.#read(collectionId, limit, before);
      const confirmed = row?.confirmed ?? null;
      const isCurrent = confirmed === null || reading.newest?.signature === confirmed.signature;
      if (isCurrent) return this.#pageOf(collectionId, reading, confirmed);
      const now = await this.#rowOf(collectionId);
      const isUnchanged = now?.revision === row?.revision;
      if (isUnchanged || readings === READINGS_MAX)
        return this.#pageOf(collectionId, reading, isUnchanged ? confirmed : null);
    }
  }

  async #read(collectionId: CollectionId, limit: number, before: number | null): Promise<Reading> {
    const found = await this.#anchors.history(collectionId, limit + 2, before === null ? null : before + 1);
    const hasAbove = before !== null && found[0] !== undefined && historyPositionOf(found[0]) === before;
    const above = hasAbove ? found[0]! : null;
    const rest = hasAbove ? found.slice(1) : found;
    const newest = before === null ? found[0] : (await this.#anchors.history(collectionId, 1, null))[0];
    return { above, items: rest.slice(0, limit), below: rest[limit], newest };
  }

  /** `confirmed` is the newest root according to the row; null if that is not known. */
  #pageOf(
    collectionId: CollectionId,
    { above, items, below, newest }: Reading,
    confirmed: ConfirmedAnchor | null,
  ): AnchorHistoryPage {
    const seals = this.#seals;
    const next = below === undefined || items.length === 0 ? null : historyPositionOf(lastOf(items));
    if (seals === null) return { items: items.map(unverified), faults: [], dropped: 0, next };
    const check = new HistoryCheck((item): item is PlacedItem => isSealedItem(collectionId, item, seals));
    if (confirmed !== null && (newest === undefined || !isSameRoot(newest, confirmed))) {
      const fault = `The entry of the newest root, version ${confirmed.version}, is missing or was changed.`;
      check.faults.push({ position: newest === undefined ? 1 : historyPositionOf(newest) + 1, fault });
    }
    if (above !== null) check.above(above);
    for (const item of items) check.add(item);
    const dropped = newest !== undefined && isSealedItem(collectionId, newest, seals) ? this.#droppedBefore(newest) : 0;
    // What is missing between two pages is named on the later one.
    const oldest = dropped === 0 || newest === undefined ? 1 : historyPositionOf(newest) - this.#bounds.kept + 1;
    if (below === undefined) check.missing(oldest);
    return { items: check.items, faults: check.faults, dropped, next };
  }

  /** Returns the number of sealed items that are no longer kept. */
  #droppedBefore({ place: { position, start } }: PlacedItem): number {
    const { kept, trimEvery } = this.#bounds;
    const count = position - start + 1;
    return Math.max(0, count - (count % trimEvery) - kept);
  }
}

function isSameRoot(item: AnchorHistoryItem, confirmed: ConfirmedAnchor): boolean {
  const { version, merkleRoot, vectorCount, signature, confirmedAt } = item;
  return (
    version === confirmed.version &&
    merkleRoot === confirmed.merkleRoot &&
    vectorCount === confirmed.vectorCount &&
    signature === confirmed.signature &&
    confirmedAt === confirmed.confirmedAt
  );
}
