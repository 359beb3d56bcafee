import { type AnyBulkWriteOperation, Binary, type Collection } from 'mongodb';
import type { StoredRecord } from '../records.ts';
import type { Connection } from './connection.ts';
import { lastRecordId } from './document-id.ts';
import { bytesOf } from './head-codec.ts';
import { nullOnDuplicate } from './store-failure.ts';

const LEAF_BYTES = 32;
const SLICE_ROWS = 1_000;
const SLICE_BYTES = 4 * 1024 * 1024;

/**
 * A record, or, with `gone`, the tombstone of a delete: older writes must not restore the record.
 * `_id` is shard, generation and id. There is no checksum on purpose: the leaf and the roots above
 * it prove the bytes, and verify names a record that differs.
 */
export interface RecordDocument {
  _id: string;
  seq: number;
  /** Little-endian float32. */
  vector?: Binary;
  metadata?: Binary;
  leaf?: Binary;
  /** Shard and generation. */
  gone?: string;
}

/**
 * Rows of records. A row is only ever replaced by one with a higher seq, and a delete leaves a
 * tombstone, so late writes change nothing.
 */
export class RecordRows {
  readonly collection: Collection<RecordDocument>;

  constructor(connection: Connection) {
    this.collection = connection.collection('records');
  }

  /** Writes rows with distinct ids, except where a row with the same or a higher seq is stored. */
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

  /** Returns rows that are not `gone`, after `_id` `after` and within `prefix`, in order. */
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
    // Another process may insert some of them in the meantime.
    if (absent.length > 0 && (await nullOnDuplicate(this.collection.insertMany(absent, { ordered: false }))) === null)
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

export function encodeRecord(_id: string, { seq, vector, metadata, leaf }: StoredRecord): RecordDocument {
  if (leaf.byteLength !== LEAF_BYTES)
    throw new RangeError(`a leaf must have ${LEAF_BYTES} bytes, not ${leaf.byteLength}`);
  return {
    _id,
    seq,
    vector: new Binary(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)),
    metadata: new Binary(metadata),
    leaf: new Binary(leaf),
  };
}

/** Copies all parts; returns null if the document is malformed. */
export function decodeRecord(document: RecordDocument): StoredRecord | null {
  const [vector, metadata, leaf] = [bytesOf(document.vector), bytesOf(document.metadata), bytesOf(document.leaf)];
  if (!Number.isSafeInteger(document.seq) || !vector || vector.byteLength % 4 !== 0) return null;
  if (!metadata || leaf?.byteLength !== LEAF_BYTES) return null;
  return { id: lastRecordId(document._id), seq: document.seq, vector: new Float32Array(vector.buffer), metadata, leaf };
}

/** Approximate size of a record on the wire, in bytes. */
export function sizeOf({ _id, vector, metadata }: RecordDocument): number {
  return _id.length + (vector?.position ?? 0) + (metadata?.position ?? 0) + LEAF_BYTES;
}
