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
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { StoredRecord } from '../../../store/records.ts';
import { forEachBit } from './bitmap.ts';
import type { Graph } from './graph.ts';
import type { SavedSpace } from './index-space.ts';
import type { Slots } from './slots.ts';

const VERSION = 1;
const GROUP_VECTOR_BYTES = 1024 * 1024;
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

/** Writes a checkpoint into an empty folder. */
export function writeCheckpoint(
  folder: string,
  spec: ShardSpec,
  head: ShardHead,
  slots: Slots,
  graph: Graph | null,
): void {
  const { collectionId, index, of, dimensions, metric, quantization } = spec;
  const header: CheckpointHeader = {
    spec: { collectionId, index, of, dimensions, metric, quantization },
    head,
    graph: graph === null || graph.nodes === 0 ? null : graph.saved,
  };
  const file = openSync(join(folder, RECORDS_FILE), 'wx', OWNER_ALONE);
  try {
    const text = Buffer.from(JSON.stringify(header, replaceBytes));
    writeFileSync(file, Buffer.from(Uint32Array.of(VERSION, text.length).buffer));
    writeFileSync(file, text);
    const groupRecords = groupSize(dimensions);
    let group: number[] = [];
    forEachBit(slots.live.words, (slot) => {
      group.push(slot);
      if (group.length < groupRecords) return;
      writeFileSync(file, encodeGroup(group, slots, graph));
      group = [];
    });
    if (group.length > 0) writeFileSync(file, encodeGroup(group, slots, graph));
  } finally {
    closeSync(file);
  }
  if (graph === null || header.graph === null) return;
  // Created here first, because native code would make it readable for everyone.
  closeSync(openSync(join(folder, GRAPH_FILE), 'wx', OWNER_ALONE));
  graph.save(join(folder, GRAPH_FILE));
}

/** Reads a checkpoint: calls `onHeader` with its header, then `onRecord` with each record. */
export function readCheckpoint(
  folder: string,
  onHeader: (header: CheckpointHeader) => void,
  onRecord: (record: CheckpointRecord) => void,
): void {
  const file = openSync(join(folder, RECORDS_FILE), 'r');
  try {
    const size = fstatSync(file).size;
    const [version, headerBytes] = new Uint32Array(readWhole(file, 8));
    if (version !== VERSION) throw new Error(`The checkpoint has unknown version ${version}.`);
    if (headerBytes > HEADER_MAX_BYTES) throw new Error('The checkpoint has a damaged header.');
    const text = Buffer.from(readWhole(file, headerBytes)).toString();
    const header = JSON.parse(text, restoreBytes) as CheckpointHeader;
    onHeader(header);
    const { dimensions } = header.spec;
    for (let at = 8 + headerBytes; at < size; ) {
      const [records, textBytes] = new Uint32Array(readWhole(file, 8));
      const bytes = records * (RECORD_BYTES + dimensions * 4) + textBytes;
      if (records === 0 || at + 8 + bytes > size) throw new Error('The checkpoint is truncated.');
      decodeGroup(readWhole(file, bytes), records, dimensions, onRecord);
      at += 8 + bytes;
    }
  } finally {
    closeSync(file);
  }
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

function encodeGroup(group: number[], slots: Slots, graph: Graph | null): Buffer {
  const dimensions = slots.dimensions;
  let textBytes = 0;
  for (const slot of group) textBytes += slots.idBytes(slot).length + slots.metadata(slot).length;
  const bytes = Buffer.from(new ArrayBuffer(8 + group.length * (RECORD_BYTES + dimensions * 4) + textBytes));
  bytes.writeUInt32LE(group.length, 0);
  bytes.writeUInt32LE(textBytes, 4);
  const layout = layOut(bytes.buffer as ArrayBuffer, 8, group.length, dimensions);
  let at = 0;
  for (let i = 0; i < group.length; i++) {
    const slot = group[i];
    const id = slots.idBytes(slot);
    const metadata = slots.metadata(slot);
    const key = graph?.keyOf(slot) ?? -1;
    layout.seqs[i] = slots.seq(slot);
    layout.vectors.set(slots.vector(slot), i * dimensions);
    layout.keys[i] = key < 0 ? NO_KEY : key;
    layout.metadataBytes[i] = metadata.length;
    layout.idBytes[i] = id.length;
    layout.text.set(id, at);
    layout.text.set(metadata, at + id.length);
    at += id.length + metadata.length;
  }
  return bytes;
}

function decodeGroup(
  buffer: ArrayBuffer,
  records: number,
  dimensions: number,
  onRecord: (record: CheckpointRecord) => void,
): void {
  const layout = layOut(buffer, 0, records, dimensions);
  let at = 0;
  for (let i = 0; i < records; i++) {
    const metadataAt = at + layout.idBytes[i];
    const end = metadataAt + layout.metadataBytes[i];
    if (end > layout.text.length) throw new Error('The checkpoint has a damaged group.');
    onRecord({
      id: layout.text.toString('utf8', at, metadataAt),
      seq: layout.seqs[i],
      vector: layout.vectors.subarray(i * dimensions, (i + 1) * dimensions),
      metadata: layout.text.subarray(metadataAt, end),
      key: layout.keys[i],
    });
    at = end;
  }
  if (at !== layout.text.length) throw new Error('The checkpoint has a damaged group.');
}

/** Number of records per group: about 1 MiB of vectors, at least one record. */
function groupSize(dimensions: number): number {
  return Math.max(1, Math.floor(GROUP_VECTOR_BYTES / (dimensions * 4)));
}

function readWhole(file: number, bytes: number): ArrayBuffer {
  const buffer = new ArrayBuffer(bytes);
  const view = new Uint8Array(buffer);
  for (let at = 0; at < bytes; ) {
    const read = readSync(file, view, at, bytes - at, null);
    if (read === 0) throw new Error('The checkpoint is truncated.');
    at += read;
  }
  return buffer;
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
