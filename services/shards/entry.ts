/**
 * Body of a log entry of kind `write`: what one commit changed in a shard's records.
 *
 * Layout (little-endian, version 1): u32 version, u32 dimensions, u32 upserts, u32 deletes; then
 * float32 vectors of all upserts, their 32-byte leaves; then per upsert u16 id bytes, u32 metadata
 * bytes, id (UTF-8), metadata (canonical JSON); then per delete u16 id bytes, id. No id occurs
 * twice. An empty body (entries of kind `open` and `void`) changes nothing.
 *
 * Decoding throws UnreadableBytes for anything the encoder cannot have written, and never reads
 * past the end.
 */
import type { LogEntry } from '../../store/log.ts';
import type { RecordChange, StoredRecord } from '../../store/records.ts';
import { UnreadableBytes } from './unreadable-bytes.ts';

const VERSION = 1;
const HEADER_BYTES = 16;
const LEAF_BYTES = 32;

/** One record as a commit wrote it. `metadata` is canonical JSON in UTF-8. */
type UpsertedRecord = Omit<StoredRecord, 'seq'>;

/** The net effect of one commit. */
export interface EntryBody {
  dimensions: number;
  upserts: UpsertedRecord[];
  /** Only ids that existed before the commit. */
  deletes: string[];
}

/** Encodes an entry into its own buffer, which can be transferred between threads. */
export function encodeEntryBody(entry: EntryBody): Uint8Array<ArrayBuffer> {
  const { dimensions, upserts, deletes } = entry;
  let bytes = HEADER_BYTES + upserts.length * (dimensions * 4 + LEAF_BYTES + 6) + deletes.length * 2;
  for (const { id, metadata } of upserts) bytes += Buffer.byteLength(id) + metadata.length;
  for (const id of deletes) bytes += Buffer.byteLength(id);

  const out = Buffer.from(new ArrayBuffer(bytes));
  let at = out.writeUInt32LE(VERSION, 0);
  at = out.writeUInt32LE(dimensions, at);
  at = out.writeUInt32LE(upserts.length, at);
  at = out.writeUInt32LE(deletes.length, at);
  for (const { vector } of upserts) {
    new Float32Array(out.buffer, at, dimensions).set(vector);
    at += dimensions * 4;
  }
  for (const { leaf } of upserts) {
    out.set(leaf, at);
    at += LEAF_BYTES;
  }
  for (const { id, metadata } of upserts) {
    const idBytes = out.write(id, at + 6);
    out.writeUInt16LE(idBytes, at);
    out.writeUInt32LE(metadata.length, at + 2);
    out.set(metadata, at + 6 + idBytes);
    at += 6 + idBytes + metadata.length;
  }
  for (const id of deletes) {
    const idBytes = out.write(id, at + 2);
    out.writeUInt16LE(idBytes, at);
    at += 2 + idBytes;
  }
  return new Uint8Array(out.buffer);
}

/**
 * Decodes an entry. Vectors and metadata are views of `body`. Throws UnreadableBytes if it is
 * malformed.
 */
export function decodeEntryBody(body: Uint8Array): EntryBody {
  if (body.length === 0) return { dimensions: 0, upserts: [], deletes: [] };
  const aligned = body.byteOffset % 4 === 0 ? body : body.slice();
  const bytes = Buffer.from(aligned.buffer, aligned.byteOffset, aligned.byteLength);
  if (bytes.length < HEADER_BYTES) throw malformed('shorter than its header');
  const version = bytes.readUInt32LE(0);
  if (version !== VERSION) throw malformed(`in unknown version ${version}`);
  const dimensions = bytes.readUInt32LE(4);
  const upsertCount = bytes.readUInt32LE(8);
  const deleteCount = bytes.readUInt32LE(12);
  const leavesAt = HEADER_BYTES + upsertCount * dimensions * 4;
  let at = leavesAt + upsertCount * LEAF_BYTES;
  if (at > bytes.length) throw malformed('truncated');

  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw malformed('truncated');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const upserts: UpsertedRecord[] = [];
  for (let i = 0; i < upsertCount; i++) {
    const lengths = take(6);
    const id = take(lengths.readUInt16LE(0)).toString();
    const metadata = take(lengths.readUInt32LE(2));
    const vectorAt = bytes.byteOffset + HEADER_BYTES + i * dimensions * 4;
    const vector = new Float32Array(bytes.buffer, vectorAt, dimensions);
    const leafAt = leavesAt + i * LEAF_BYTES;
    upserts.push({ id, vector, metadata, leaf: bytes.subarray(leafAt, leafAt + LEAF_BYTES) });
  }
  const deletes: string[] = [];
  for (let i = 0; i < deleteCount; i++) deletes.push(take(take(2).readUInt16LE(0)).toString());
  if (at !== bytes.length) throw malformed('longer than its contents');
  return { dimensions, upserts, deletes };
}

/**
 * Returns the record changes of an entry, for the materialiser and for recomputing a root. Throws
 * UnreadableBytes if the body is malformed.
 */
export function changesOf(body: Uint8Array, seq: number): RecordChange[] {
  const { upserts, deletes } = decodeEntryBody(body);
  const changes: RecordChange[] = upserts.map((record) => ({ id: record.id, record: { ...record, seq } }));
  for (const id of deletes) changes.push({ id, record: null });
  return changes;
}

/** Returns the record changes of an entry, or null if its body cannot be decoded. */
export function changesIn({ kind, body, seq }: Pick<LogEntry, 'kind' | 'body' | 'seq'>): RecordChange[] | null {
  if (kind === 'damaged') return null;
  try {
    return changesOf(body, seq);
  } catch (error) {
    if (error instanceof UnreadableBytes) return null;
    throw error;
  }
}

function malformed(how: string): UnreadableBytes {
  return new UnreadableBytes(`The log entry's body is ${how}.`);
}
