import type { Collection } from 'mongodb';
import type { CollectionId } from '../../lib/ids.ts';
import type { Cut } from '../../lib/shard/head.ts';
import {
  type AnchorHistoryItem,
  type AnchoringInstance,
  type AnchorRow,
  type AnchorRowWith,
  type AnchorStore,
  historyPositionOf,
  mapCuts,
  type OpenAnchor,
  type OutboxState,
  outboxStateOf,
  unreadableAnchorRow,
} from '../anchors.ts';
import type { Connection } from './connection.ts';
import { count, fields, optional, text, validated, whole } from './document-form.ts';
import { idPart, joined, lastNumber, numbered, numberPart, under } from './document-id.ts';
import { decodeHead, encodeHead, type HeadDocument } from './head-codec.ts';
import { deleteRange, pagesOf } from './slices.ts';
import { damagedDocument, nullOnDuplicate } from './store-failure.ts';

const PAGE_ROWS = 100;
const OPEN_PAGE_ROWS = 1_000;

type CutDocument = HeadDocument[];

/** A row of the outbox as stored. `_id` is the collection's id part. */
interface AnchorDocument extends AnchorRowWith<CutDocument> {
  _id: string;
  /** Absent if 'settled', so that a sparse index holds only open rows. */
  standing?: Exclude<OutboxState, 'settled'>;
  /** Newest history item, with the revision of the row that it came with. */
  newest: { item: AnchorHistoryItem; revision: number } | null;
}

/** `_id`: collection, position. */
interface HistoryDocument {
  _id: string;
  /** Revision of the row that the item came with. */
  revision: number;
  item: AnchorHistoryItem;
}

interface InstanceDocument {
  _id: string;
  row: AnchoringInstance;
}

/**
 * Outbox rows, changed by compare-and-set on their revision. `newest` holds the latest history
 * item, so that one update stores row and item together; before the next item replaces it, it is
 * copied to `anchor-history`. The full history is that collection plus `newest`.
 */
export class MongoAnchors implements AnchorStore {
  readonly #connection: Connection;
  readonly #rows: Collection<AnchorDocument>;
  readonly #history: Collection<HistoryDocument>;
  readonly #instances: Collection<InstanceDocument>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#rows = connection.collection('anchors');
    this.#history = connection.collection('anchor-history');
    this.#instances = connection.collection('anchoring-instances');
  }

  async get(collectionId: CollectionId): Promise<AnchorRow | null> {
    const found = await this.#rows.findOne({ _id: idPart(collectionId) });
    return found && decodeAnchorDocument(found);
  }

  async getMany(collectionIds: CollectionId[]): Promise<AnchorRow[]> {
    const found = await this.#rows.find({ _id: { $in: collectionIds.map(idPart) } }).toArray();
    return found.map(decodeAnchorDocument);
  }

  async add(row: AnchorRow): Promise<boolean> {
    const document = { _id: idPart(row.collectionId), ...encodeAnchorDocument(row), newest: null };
    return (await nullOnDuplicate(this.#rows.insertOne(document))) !== null;
  }

  async put(row: AnchorRow, history?: AnchorHistoryItem): Promise<boolean> {
    const _id = idPart(row.collectionId);
    const fields = encodeAnchorDocument(row);
    const stored = await this.#stored(_id);
    if (stored?.revision !== row.revision - 1) return false;
    const before = newestOf(stored);
    if (history && before) await this.#copy(_id, before);
    const newest = history ? { revision: row.revision, item: history } : before;
    const { matchedCount } = await this.#rows.replaceOne({ _id, revision: stored.revision }, { ...fields, newest });
    return matchedCount > 0;
  }

  async *all(): AsyncIterable<AnchorRow[]> {
    for await (const page of pagesOf(this.#connection, this.#rows, {}, PAGE_ROWS)) yield page.map(decodeAnchorDocument);
  }

  async *open(standing: Exclude<OutboxState, 'settled'>): AsyncIterable<OpenAnchor[]> {
    const fields = { collectionId: 1, wantedAt: 1 } as const;
    for await (const page of pagesOf(this.#connection, this.#rows, { standing }, OPEN_PAGE_ROWS, fields))
      yield page.flatMap(openIn);
  }

  async history(collectionId: CollectionId, limit: number, before: number | null): Promise<AnchorHistoryItem[]> {
    const last = before === null ? Number.MAX_SAFE_INTEGER : before - 1;
    if (limit <= 0 || last < 0) return [];
    const collection = idPart(collectionId);
    // The row must be read first: an item that is copied between the two reads is then found by
    // both.
    const row = await this.#rows.findOne({ _id: collection }, { projection: { newest: 1 } });
    const copied = await this.#history
      .find({ _id: numbered(collection, 0, last) })
      .sort({ _id: -1 })
      .limit(limit)
      .toArray();
    // A malformed item must not hide valid ones.
    const items = new Map(copied.filter(isItemAtItsPlace).map(({ item }) => [historyPositionOf(item), item]));
    const newest = row && newestOf(row);
    if (newest && historyPositionOf(newest.item) <= last) items.set(historyPositionOf(newest.item), newest.item);
    return [...items.values()].sort((a, b) => historyPositionOf(b) - historyPositionOf(a)).slice(0, limit);
  }

  async trimHistory(collectionId: CollectionId, before: number): Promise<void> {
    if (before > 0) await deleteRange(this.#connection, this.#history, numbered(idPart(collectionId), 0, before - 1));
  }

  async remove(collectionId: CollectionId, revision: number): Promise<boolean> {
    const _id = idPart(collectionId);
    const stored = await this.#stored(_id);
    if (stored !== null && stored.revision !== revision) return false;
    // The row goes last: while it is there, an interrupted deletion is resumed.
    await deleteRange(this.#connection, this.#history, under(_id));
    const { deletedCount } = await this.#rows.deleteOne({ _id, revision });
    return deletedCount > 0 || stored === null;
  }

  async beat({ instance, beat, confirmed, failures }: AnchoringInstance): Promise<void> {
    const row = { instance, beat, confirmed, failures };
    await this.#instances.replaceOne({ _id: idPart(instance) }, { row }, { upsert: true });
  }

  async instances(): Promise<AnchoringInstance[]> {
    const found = await this.#instances.find().sort({ _id: 1 }).toArray();
    return found.map(({ row }) => validated(row, INSTANCE, 'An instance of anchoring'));
  }

  async endInstance(instance: string): Promise<void> {
    await this.#instances.deleteOne({ _id: idPart(instance) });
  }

  #stored(_id: string): Promise<Pick<AnchorDocument, 'revision' | 'newest'> | null> {
    return this.#connection.reading('reading anchors', () =>
      this.#rows.findOne({ _id }, { projection: { revision: 1, newest: 1 } }),
    );
  }

  async #copy(collection: string, { item, revision }: NonNullable<AnchorDocument['newest']>): Promise<void> {
    const _id = joined(collection, numberPart(historyPositionOf(item)));
    // A duplicate key means that the item was already copied.
    await nullOnDuplicate(
      this.#history.updateOne({ _id, revision: { $lt: revision } }, { $set: { revision, item } }, { upsert: true }),
    );
  }
}

const PLACE = fields({ position: count, start: count, seal: text });
const ITEM = fields({
  merkleRoot: text,
  version: count,
  vectorCount: whole,
  signature: text,
  confirmedAt: text,
  decisions: optional(whole),
  place: optional(PLACE),
});
const NEWEST = fields({ revision: whole, item: ITEM });
const INSTANCE = fields({ instance: text, beat: whole, confirmed: whole, failures: whole });

function isItemAtItsPlace(document: HistoryDocument): boolean {
  return NEWEST(document) && lastNumber(document._id) === historyPositionOf(document.item);
}

function newestOf({ newest }: Pick<AnchorDocument, 'newest'>): AnchorDocument['newest'] {
  return NEWEST(newest) ? newest : null;
}

/**
 * Returns the open anchor of a document, or none if the document's id is not that of its
 * collection: these fields are not sealed and may have been changed.
 */
function openIn({
  _id,
  collectionId,
  wantedAt,
}: Pick<AnchorDocument, '_id' | 'collectionId' | 'wantedAt'>): OpenAnchor[] {
  if (typeof collectionId !== 'string' || idPart(collectionId) !== _id) return [];
  return [{ collectionId, wantedAt: typeof wantedAt === 'string' ? wantedAt : null }];
}

export function encodeAnchorDocument(row: AnchorRow): Omit<AnchorDocument, '_id' | 'newest'> {
  const standing = outboxStateOf(row);
  return {
    ...mapCuts(row, (cut) => cut.map(encodeHead)),
    ...(standing === 'settled' ? {} : { standing }),
  };
}

export function decodeAnchorDocument({ _id, newest: _, standing: __, ...document }: AnchorDocument): AnchorRow {
  const { collectionId, revision } = document;
  try {
    if (Number.isSafeInteger(revision) && idPart(collectionId) === _id) return mapCuts(document, decodeCut);
  } catch {
    // Handled below.
  }
  return unreadableAnchorRow(_id, Number.isSafeInteger(revision) ? revision : 0);
}

function decodeCut(cut: CutDocument): Cut {
  if (!Array.isArray(cut)) throw damagedDocument('The cut of an anchor row');
  return cut.map(decodeHead);
}
