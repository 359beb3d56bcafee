/**
 * Encoding of records for transfer between threads: many in one buffer, which is transferred
 * without copying. Each record is u32le length of id, u32le length of vector (`GONE`: the id was
 * deleted and only the id follows), u32le length of metadata, f64le seq; then id (UTF-8), vector
 * (f32le), metadata and the 32-byte leaf.
 */
import { isUtf8 } from 'node:buffer';
import { endianness } from 'node:os';
import { STORED_ID_MAX_BYTES } from '../../lib/records/namespace.ts';
import type { RecordChange, StoredRecord } from '../records.ts';

const LEAF_BYTES = 32;
const HEADER_BYTES = 12 + 8;
const GONE = 0xffff_ffff;
/** An id may start with U+FEFF, which a decoder drops as a byte order mark by default. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

// Vectors are copied in machine byte order. Every platform that usearch is built for is
// little-endian.
if (endianness() !== 'LE') throw new Error('Provec needs a little-endian machine.');

/**
 * A record's parts concatenated, which is the fastest way to read them from a table: id, vector,
 * metadata, leaf.
 */
export interface RecordRow {
  idBytes: number;
  vectorBytes: number;
  metadataBytes: number;
  seq: number;
  bytes: Uint8Array;
}

/** A record's parts as the columns of its table. */
export interface RecordParts {
  id: Uint8Array;
  seq: number;
  vector: Uint8Array;
  metadata: Uint8Array;
  leaf: Uint8Array;
}

/**
 * Returns whether a row is a well-formed record. There is no checksum: the leaf and the roots above
 * it prove the content.
 */
export function isRecord({ idBytes, vectorBytes, metadataBytes, seq, bytes }: RecordRow): boolean {
  const leafBytes = bytes.byteLength - idBytes - vectorBytes - metadataBytes;
  return Number.isSafeInteger(seq) && vectorBytes % 4 === 0 && leafBytes === LEAF_BYTES;
}

/**
 * Returns whether a record can have this id. Invalid UTF-8 could decode to the same text as a valid
 * id.
 */
export function isRecordId(id: Uint8Array): boolean {
  return id.byteLength > 0 && id.byteLength <= STORED_ID_MAX_BYTES && isUtf8(id);
}

export function idOf({ bytes, idBytes }: RecordRow): Uint8Array {
  return bytes.subarray(0, idBytes);
}

export function decodeRecordId(id: Uint8Array): string {
  return UTF8.decode(id);
}

/** Collects rows in one buffer. */
export class BatchWriter {
  #rows: RecordRow[] = [];
  bytes = 0;

  put(row: RecordRow): void {
    this.#rows.push(row);
    this.bytes += HEADER_BYTES + row.bytes.byteLength;
  }

  take(): ArrayBuffer {
    const batch = Buffer.from(new ArrayBuffer(this.bytes));
    let at = 0;
    for (const { idBytes, vectorBytes, metadataBytes, seq, bytes } of this.#rows) {
      batch.writeUInt32LE(idBytes, at);
      batch.writeUInt32LE(vectorBytes, at + 4);
      batch.writeUInt32LE(metadataBytes, at + 8);
      batch.writeDoubleLE(seq, at + 12);
      batch.set(bytes, at + HEADER_BYTES);
      at += HEADER_BYTES + bytes.byteLength;
    }
    this.#rows = [];
    this.bytes = 0;
    return batch.buffer;
  }
}

/** Iterates over a batch in order, with views into its buffer; `parts` is null for a deleted id. */
export function* rowsIn(batch: ArrayBuffer): Generator<{ id: Uint8Array; parts: RecordParts | null }> {
  const bytes = Buffer.from(batch);
  for (let at = 0; at < bytes.length; ) {
    const vectorAt = at + HEADER_BYTES + bytes.readUInt32LE(at);
    const id = bytes.subarray(at + HEADER_BYTES, vectorAt);
    const vectorBytes = bytes.readUInt32LE(at + 4);
    if (vectorBytes === GONE) {
      yield { id, parts: null };
      at = vectorAt;
      continue;
    }
    const metadataAt = vectorAt + vectorBytes;
    const leafAt = metadataAt + bytes.readUInt32LE(at + 8);
    const seq = bytes.readDoubleLE(at + 12);
    const vector = bytes.subarray(vectorAt, metadataAt);
    const metadata = bytes.subarray(metadataAt, leafAt);
    at = leafAt + LEAF_BYTES;
    yield { id, parts: { id, seq, vector, metadata, leaf: bytes.subarray(leafAt, at) } };
  }
}

/** Returns the records of a batch, each in its own buffers. */
export function recordsIn(batch: ArrayBuffer): StoredRecord[] {
  const records: StoredRecord[] = [];
  for (const { id, parts } of rowsIn(batch)) {
    if (parts === null) continue;
    const { seq, vector, metadata, leaf } = parts;
    records.push({
      id: decodeRecordId(id),
      seq,
      vector: new Float32Array(new Uint8Array(vector).buffer),
      metadata: new Uint8Array(metadata),
      leaf: new Uint8Array(leaf),
    });
  }
  return records;
}

/** Encodes changes in batches of about `batchBytes`, one at a time. */
export function* batchesOf(changes: Iterable<RecordChange>, batchBytes: number): Generator<ArrayBuffer> {
  const writer = new BatchWriter();
  for (const { id, record } of changes) {
    writer.put(record === null ? goneRow(Buffer.from(id)) : rowOf(record));
    if (writer.bytes >= batchBytes) yield writer.take();
  }
  if (writer.bytes > 0) yield writer.take();
}

function goneRow(id: Uint8Array): RecordRow {
  return { idBytes: id.byteLength, vectorBytes: GONE, metadataBytes: 0, seq: 0, bytes: id };
}

function rowOf({ id, seq, vector, metadata, leaf }: StoredRecord): RecordRow {
  if (leaf.byteLength !== LEAF_BYTES)
    throw new RangeError(`a leaf must have ${LEAF_BYTES} bytes, not ${leaf.byteLength}`);
  const idBytes = Buffer.from(id);
  const vectorBytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
  return {
    idBytes: idBytes.byteLength,
    vectorBytes: vectorBytes.byteLength,
    metadataBytes: metadata.byteLength,
    seq,
    bytes: Buffer.concat([idBytes, vectorBytes, metadata, leaf]),
  };
}
