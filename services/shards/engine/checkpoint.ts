/**
 * A shard's checkpoint: `records.bin`, plus `graph.usearch` if there is a graph.
 *
 * `records.bin` (little-endian, version 1): u32 version, u32 header bytes, header (JSON), then
 * groups of records. A group: u32 records, u32 bytes of ids and metadata; then for all its records
 * f64 seqs, f32 vectors, u32 graph keys (NO_KEY: none, or shared with another record), u32 metadata
 * bytes, u16 id bytes; then each id followed by its metadata.
 *
 * Guarantees: the reader computes leaves and root from the records and trusts none in the file.
 * Truncated, mismatched or foreign files fail with an Error; they never yield a wrong shard.
 */
import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { itemAt } from '../../../lib/checked-access.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { StoredRecord } from '../../../store/records.ts';
import { runThrough, type Steps } from '../steps.ts';
import { bitsOf, forEachBit } from './bitmap.ts';
import type { Graph } from './graph.ts';
import type { SavedSpace } from './index-space.ts';
import type { SlotView } from './slot-view.ts';

const VERSION = 1;
const GROUP_VECTOR_BYTES = 1024 * 1024;
/** Bytes of the file that a step reads or writes. */
const STEP_BYTES = 1024 * 1024;
const HEADER_MAX_BYTES = 1024 * 1024;
const RECORD_BYTES = 8 + 4 + 4 + 2;

export const NO_KEY = 0xffffffff;
export const GRAPH_FILE = 'graph.usearch';
const RECORDS_FILE = 'records.bin';
const OWNER_ALONE = 0o600;

export interface CheckpointHeader {
  spec: Pick<ShardSpec, 'collectionId' | 'index' | 'of' | 'dimensions' | 'metric' | 'quantization'>;
  head: ShardHead;
  graph: ({ nodes: number } & SavedSpace) | null;
}

/**
 * One record of a checkpoint. Its vector and metadata are views, valid until the next record is
 * read.
 */
type CheckpointRecord = Omit<StoredRecord, 'leaf'> & {
  /** Graph key, or NO_KEY. */
  key: number;
};

/** What a checkpoint contains besides the graph. */
export interface CheckpointContent {
  spec: ShardSpec;
  head: ShardHead;
  slots: SlotView;
  /** Bitmap of the records' slots, which must stay readable until all are written. */
  words: Uint32Array;
  /** Seq of the commit that wrote the record in a slot. */
  seqOf: (slot: number) => number;
}

/** The parts of a graph that a checkpoint contains. */
type SavedGraph = Pick<Graph, 'nodes' | 'saved' | 'keyOf' | 'save'>;

/**
 * Writes a checkpoint into an empty folder. The graph is written in the first step, which native
 * code does not let us divide: about 5 ms per 1,000 nodes.
 */
export function* writeCheckpoint(
  folder: string,
  { spec, head, slots, words, seqOf }: CheckpointContent,
  graph: SavedGraph | null,
): Steps<void> {
  const { collectionId, index, of, dimensions, metric, quantization } = spec;
  const header: CheckpointHeader = {
    spec: { collectionId, index, of, dimensions, metric, quantization },
    head,
    graph: graph === null || graph.nodes === 0 ? null : graph.saved,
  };
  const keys = new Uint32Array(words.length * 32).fill(NO_KEY);
  if (graph !== null && header.graph !== null) {
    forEachBit(words, (slot) => {
      keys[slot] = graph.keyOf(slot);
    });
    // Created here first, because native code would make it readable for everyone.
    closeSync(openSync(join(folder, GRAPH_FILE), 'wx', OWNER_ALONE));
    graph.save(join(folder, GRAPH_FILE));
    yield 'sending';
  }
  const file = openSync(join(folder, RECORDS_FILE), 'wx', OWNER_ALONE);
  try {
    const text = Buffer.from(JSON.stringify(header, replaceBytes));
    writeFileSync(file, Buffer.from(Uint32Array.of(VERSION, text.length).buffer));
    writeFileSync(file, text);
    const groupRecords = groupSize(dimensions);
    let group: number[] = [];
    for (const slot of bitsOf(words)) {
      group.push(slot);
      if (group.length < groupRecords) continue;
      yield* writeWhole(file, yield* encodeGroup(group, slots, keys, seqOf));
      group = [];
    }
    if (group.length > 0) yield* writeWhole(file, yield* encodeGroup(group, slots, keys, seqOf));
  } finally {
    closeSync(file);
  }
}

/** Reads a checkpoint's header. */
export function readHeader(folder: string): CheckpointHeader {
  const file = openSync(join(folder, RECORDS_FILE), 'r');
  try {
    return headerIn(file).header;
  } finally {
    closeSync(file);
  }
}

/** Reads a checkpoint's records, and calls `onRecord` with each. */
export function* readRecords(folder: string, onRecord: (record: CheckpointRecord) => void): Steps<void> {
  const file = openSync(join(folder, RECORDS_FILE), 'r');
  try {
    const size = fstatSync(file).size;
    const { header, end } = headerIn(file);
    const { dimensions } = header.spec;
    for (let at = end; at < size; ) {
      const [records = 0, textBytes = 0] = new Uint32Array(runThrough(readWhole(file, 8)));
      const bytes = records * (RECORD_BYTES + dimensions * 4) + textBytes;
      if (records === 0 || at + 8 + bytes > size) throw new Error('The checkpoint is truncated.');
      yield* decodeGroup(yield* readWhole(file, bytes), records, dimensions, onRecord);
      at += 8 + bytes;
    }
  } finally {
    closeSync(file);
  }
}

function headerIn(file: number): { header: CheckpointHeader; end: number } {
  const [version, bytes = 0] = new Uint32Array(runThrough(readWhole(file, 8)));
  if (version !== VERSION) throw new Error(`The checkpoint has unknown version ${version}.`);
  if (bytes > HEADER_MAX_BYTES) throw new Error('The checkpoint has a damaged header.');
  const text = Buffer.from(runThrough(readWhole(file, bytes))).toString();
  return { header: JSON.parse(text, restoreBytes) as CheckpointHeader, end: 8 + bytes };
}

function layOut(buffer: ArrayBuffer, start: number, records: number, dimensions: number) {
  const vectorsAt = start + records * 8;
  const keysAt = vectorsAt + records * dimensions * 4;
  return {
    seqs: new Float64Array(buffer, start, records),
    vectors: new Float32Array(buffer, vectorsAt, records * dimensions),
    keys: new Uint32Array(buffer, keysAt, records),
    metadataBytes: new Uint32Array(buffer, keysAt + records * 4, records),
    idBytes: new Uint16Array(buffer, keysAt + records * 8, records),
    text: Buffer.from(buffer, keysAt + records * 10),
  };
}

function* encodeGroup(
  group: number[],
  slots: SlotView,
  keys: Uint32Array,
  seqOf: (slot: number) => number,
): Steps<Buffer> {
  const dimensions = slots.dimensions;
  let textBytes = 0;
  for (const slot of group) textBytes += slots.idBytes(slot).length + slots.metadata(slot).length;
  const bytes = Buffer.from(new ArrayBuffer(8 + group.length * (RECORD_BYTES + dimensions * 4) + textBytes));
  bytes.writeUInt32LE(group.length, 0);
  bytes.writeUInt32LE(textBytes, 4);
  const layout = layOut(bytes.buffer, 8, group.length, dimensions);
  let at = 0;
  for (const [i, slot] of group.entries()) {
    const id = slots.idBytes(slot);
    const metadata = slots.metadata(slot);
    layout.seqs[i] = seqOf(slot);
    layout.vectors.set(slots.vector(slot), i * dimensions);
    layout.keys[i] = itemAt(keys, slot);
    layout.metadataBytes[i] = metadata.length;
    layout.idBytes[i] = id.length;
    layout.text.set(id, at);
    layout.text.set(metadata, at + id.length);
    at += id.length + metadata.length;
    yield 'sending';
  }
  return bytes;
}

function* decodeGroup(
  buffer: ArrayBuffer,
  records: number,
  dimensions: number,
  onRecord: (record: CheckpointRecord) => void,
): Steps<void> {
  const layout = layOut(buffer, 0, records, dimensions);
  let at = 0;
  for (let i = 0; i < records; i++) {
    const metadataAt = at + itemAt(layout.idBytes, i);
    const end = metadataAt + itemAt(layout.metadataBytes, i);
    if (end > layout.text.length) throw new Error('The checkpoint has a damaged group.');
    onRecord({
      id: layout.text.toString('utf8', at, metadataAt),
      seq: itemAt(layout.seqs, i),
      vector: layout.vectors.subarray(i * dimensions, (i + 1) * dimensions),
      metadata: layout.text.subarray(metadataAt, end),
      key: itemAt(layout.keys, i),
    });
    at = end;
    yield 'sending';
  }
  if (at !== layout.text.length) throw new Error('The checkpoint has a damaged group.');
}

/** Number of records per group: about 1 MiB of vectors, at least one record. */
function groupSize(dimensions: number): number {
  return Math.max(1, Math.floor(GROUP_VECTOR_BYTES / (dimensions * 4)));
}

function* readWhole(file: number, bytes: number): Steps<ArrayBuffer> {
  const buffer = new ArrayBuffer(bytes);
  const view = new Uint8Array(buffer);
  for (let at = 0; at < bytes; ) {
    const read = readSync(file, view, at, Math.min(STEP_BYTES, bytes - at), null);
    if (read === 0) throw new Error('The checkpoint is truncated.');
    at += read;
    yield 'sending';
  }
  return buffer;
}

function* writeWhole(file: number, bytes: Buffer): Steps<void> {
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    writeFileSync(file, bytes.subarray(at, at + STEP_BYTES));
    yield 'sending';
  }
}

function replaceBytes(_name: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') };
  if (!(value instanceof Float32Array)) return value;
  return { floats: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
}

function restoreBytes(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('bytes' in value) return new Uint8Array(Buffer.from(String(value.bytes), 'base64'));
  if ('floats' in value) return new Float32Array(new Uint8Array(Buffer.from(String(value.floats), 'base64')).buffer);
  return value;
}
