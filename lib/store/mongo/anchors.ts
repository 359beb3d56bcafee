import type { Collection } from 'mongodb';
import type {
  AnchorHistoryItem,
  AnchoringInstance,
  AnchorRow,
  AnchorStanding,
  AnchorStore,
  OpenAnchor,
} from '../anchors.ts';
import { type AnchorDocument, decodeAnchor, encodeAnchor } from './anchor-codec.ts';
import type { Connection } from './connection.ts';
import { idPart, joined, numbered, numberPart, under } from './document-id.ts';
import { deleteRange, pagesOf } from './slices.ts';
import { isDuplicateKey } from './store-failure.ts';

const PAGE_ROWS = 100;
const OPEN_PAGE_ROWS = 1_000;

/** `_id`: collection, version. */
interface HistoryDocument {
  _id: string;
  /** Of the row that it came with. */
  revision: number;
  item: AnchorHistoryItem;
}

interface InstanceDocument {
  _id: string;
  row: AnchoringInstance;
}

/**
 * Outbox rows, changed by compare-and-set on their revision. A new item of the history rides in the
 * row's document as `newest`, so that one update holds both; before another takes its place it is
 * copied into the history. So the history is what was copied, and `newest`.
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

  async createIndexes(): Promise<void> {
    await this.#rows.createIndex({ standing: 1, _id: 1 }, { sparse: true });
  }

  async get(collectionId: string): Promise<AnchorRow | null> {
    const _id = idPart(collectionId);
    return this.#connection.run('read', 'reading an anchor', async () => {
      const found = await this.#rows.findOne({ _id });
      return found && decodeAnchor(found);
    });
  }

  async getMany(collectionIds: string[]): Promise<AnchorRow[]> {
    const ids = collectionIds.map(idPart);
    return this.#connection.run('read', 'reading anchors', async () => {
      const found = await this.#rows.find({ _id: { $in: ids } }).toArray();
      return found.map(decodeAnchor);
    });
  }

  async add(row: AnchorRow): Promise<boolean> {
    const document = { _id: idPart(row.collectionId), ...encodeAnchor(row), newest: null };
    return this.#connection.run('write', 'adding an anchor', async () => {
      try {
        await this.#rows.insertOne(document);
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    });
  }

  async put(row: AnchorRow, history?: AnchorHistoryItem): Promise<boolean> {
    const _id = idPart(row.collectionId);
    return this.#connection.run('write', 'writing an anchor', async () => {
      const fields = encodeAnchor(row);
      const stored = await this.#connection.reading('reading an anchor', () =>
        this.#rows.findOne({ _id }, { projection: { revision: 1, newest: 1 } }),
      );
      if (stored?.revision !== row.revision - 1) return false;
      if (history && stored.newest) await this.#copy(_id, stored.newest);
      const newest = history ? { revision: row.revision, item: history } : stored.newest;
      const { matchedCount } = await this.#rows.replaceOne({ _id, revision: stored.revision }, { ...fields, newest });
      return matchedCount > 0;
    });
  }

  async *all(): AsyncIterable<AnchorRow[]> {
    for await (const page of pagesOf(this.#connection, this.#rows, {}, PAGE_ROWS)) yield page.map(decodeAnchor);
  }

  async *open(standing: Exclude<AnchorStanding, 'settled'>): AsyncIterable<OpenAnchor[]> {
    for (let after = ''; ; ) {
      const page = await this.#connection.run('read', 'reading open anchors', () =>
        this.#rows
          .find({ standing, _id: { $gt: after } })
          .project<OpenAnchor & { _id: string }>({ collectionId: 1, wantedAt: 1 })
          .sort({ _id: 1 })
          .limit(OPEN_PAGE_ROWS)
          .toArray(),
      );
      if (page.length > 0) yield page.map(({ collectionId, wantedAt }) => ({ collectionId, wantedAt }));
      if (page.length < OPEN_PAGE_ROWS) return;
      after = page.at(-1)!._id;
    }
  }

  async history(collectionId: string, limit: number, beforeVersion: number | null): Promise<AnchorHistoryItem[]> {
    const last = beforeVersion === null ? Number.MAX_SAFE_INTEGER : beforeVersion - 1;
    if (limit <= 0 || last < 0) return [];
    const collection = idPart(collectionId);
    return this.#connection.run('read', 'reading anchors', async () => {
      // In this order: an item that is copied between the two reads is found by both.
      const row = await this.#rows.findOne({ _id: collection }, { projection: { newest: 1 } });
      const copied = await this.#history
        .find({ _id: numbered(collection, 0, last) })
        .sort({ _id: -1 })
        .limit(limit)
        .toArray();
      const items = new Map(copied.map(({ item }) => [item.version, item]));
      if (row?.newest && row.newest.item.version <= last) items.set(row.newest.item.version, row.newest.item);
      return [...items.values()].sort((a, b) => b.version - a.version).slice(0, limit);
    });
  }

  async remove(collectionId: string, revision: number): Promise<boolean> {
    const _id = idPart(collectionId);
    return this.#connection.run('write', 'removing anchors', async () => {
      const stored = await this.#connection.reading('reading an anchor', () =>
        this.#rows.findOne({ _id }, { projection: { revision: 1 } }),
      );
      if (stored !== null && stored.revision !== revision) return false;
      // The row goes last: while it is there, whoever is interrupted comes back.
      await deleteRange(this.#connection, this.#history, under(_id));
      const { deletedCount } = await this.#rows.deleteOne({ _id, revision });
      return deletedCount > 0 || stored === null;
    });
  }

  async beat({ instance, beat, confirmed, failures }: AnchoringInstance): Promise<void> {
    const row = { instance, beat, confirmed, failures };
    await this.#connection.run('write', 'writing a beat', () =>
      this.#instances.replaceOne({ _id: idPart(instance) }, { row }, { upsert: true }),
    );
  }

  async instances(): Promise<AnchoringInstance[]> {
    return this.#connection.run('read', 'reading instances', async () => {
      const found = await this.#instances.find().sort({ _id: 1 }).toArray();
      return found.map(({ row }) => row);
    });
  }

  async endInstance(instance: string): Promise<void> {
    const _id = idPart(instance);
    await this.#connection.run('write', 'ending an instance', () => this.#instances.deleteOne({ _id }));
  }

  async #copy(collection: string, { item, revision }: NonNullable<AnchorDocument['newest']>): Promise<void> {
    const _id = joined(collection, numberPart(item.version));
    try {
      await this.#history.updateOne(
        { _id, revision: { $lt: revision } },
        { $set: { revision, item } },
        { upsert: true },
      );
    } catch (error) {
      // It is there already.
      if (!isDuplicateKey(error)) throw error;
    }
  }
}
