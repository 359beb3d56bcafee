import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { Connection } from './connection.ts';
import { type RecordDocument, sizeOf } from './record-codec.ts';
import { unlessTaken } from './store-failure.ts';

const SLICE_ROWS = 1_000;
const SLICE_BYTES = 4 * 1024 * 1024;

/**
 * Rows of records. A row is only ever replaced by one of a higher seq, whoever comes late, and a
 * deleted one leaves a row too.
 */
export class RecordRows {
  readonly collection: Collection<RecordDocument>;

  constructor(connection: Connection) {
    this.collection = connection.collection('records');
  }

  /** Writes rows, none twice, where there is no row of the same or a higher seq. */
  async write(rows: RecordDocument[]): Promise<void> {
    for (const slice of slicesOf(rows)) await this.#writeSlice(slice);
  }

  async read(ids: string[]): Promise<Map<string, RecordDocument>> {
    const found = new Map<string, RecordDocument>();
    for (let at = 0; at < ids.length; at += SLICE_ROWS) {
      const some = ids.slice(at, at + SLICE_ROWS);
      for await (const row of this.collection.find({ _id: { $in: some } })) found.set(row._id, row);
    }
    return found;
  }

  /** Rows that are not `gone` after `_id`, in order, up to one that starts with another prefix. */
  live(prefix: string, after: string, limit: number): Promise<RecordDocument[]> {
    return this.collection
      .find({ _id: { $gt: after, $lt: `${prefix}/` }, gone: { $exists: false } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
  }

  async #writeSlice(rows: RecordDocument[]): Promise<void> {
    const stored = new Map<string, number>();
    const ids = rows.map(({ _id }) => _id);
    for await (const { _id, seq } of this.collection.find({ _id: { $in: ids } }, { projection: { seq: 1 } })) {
      stored.set(_id, seq);
    }
    const absent = rows.filter(({ _id }) => !stored.has(_id));
    const older = rows.filter(({ _id, seq }) => (stored.get(_id) ?? seq) < seq);
    // Some of them may come from elsewhere meanwhile.
    if (absent.length > 0 && (await unlessTaken(this.collection.insertMany(absent, { ordered: false }))) === null)
      older.push(...absent);
    if (older.length === 0) return;
    const replacements = older.map((row): AnyBulkWriteOperation<RecordDocument> => {
      const { _id, ...replacement } = row;
      return { replaceOne: { filter: { _id, seq: { $lt: row.seq } }, replacement } };
    });
    await this.collection.bulkWrite(replacements, { ordered: false });
  }
}

function* slicesOf(rows: RecordDocument[]): Iterable<RecordDocument[]> {
  let slice: RecordDocument[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (slice.length === SLICE_ROWS || bytes > SLICE_BYTES) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(row);
    bytes += sizeOf(row);
  }
  if (slice.length > 0) yield slice;
}
