/**
 * The form in which a write is posted to a worker. Posting copies strings in one blocking step, so
 * megabytes of metadata are first encoded to bytes, in slices, and then transferred.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ShardWrite } from '../engine/port.ts';

const PACKED_MIN_CHARS = 2 * 1024 * 1024;
/** Takes about 2 ms to encode. */
const SLICE_CHARS = 1024 * 1024;

interface PackedUpsert {
  kind: 'packed upsert';
  ids: string[];
  dimensions: number;
  vectors: Float32Array;
  /** Canonical JSON of all records, concatenated, in UTF-8. */
  metadata: Uint8Array<ArrayBuffer>;
  metadataBytes: Uint32Array<ArrayBuffer>;
}

export type PostedWrite = ShardWrite | PackedUpsert;

/**
 * Prepares a single write for posting. Transfers its buffers, so they become unusable here, unless
 * the sender may retry the write (`isKept`).
 */
export async function toPosted(
  write: ShardWrite,
  isKept = false,
): Promise<{ write: PostedWrite; transfer: ArrayBuffer[] }> {
  if (write.kind !== 'upsert') return { write, transfer: [] };
  const { ids, dimensions, vectors, metadata } = write.batch;
  const transfer = isWhole(vectors) && !isKept ? [vectors.buffer] : [];
  const packed = await pack(metadata);
  if (packed === null) return { write, transfer };
  transfer.push(packed.metadata.buffer, packed.metadataBytes.buffer);
  return { write: { kind: 'packed upsert', ids, dimensions, vectors, ...packed }, transfer };
}

/** Restores the write as it was before it was posted. */
export function fromPosted(write: PostedWrite): ShardWrite {
  if (write.kind !== 'packed upsert') return write;
  const { ids, dimensions, vectors } = write;
  const bytes = Buffer.from(write.metadata.buffer);
  const metadata: string[] = [];
  let at = 0;
  for (const length of write.metadataBytes) {
    metadata.push(bytes.toString('utf8', at, at + length));
    at += length;
  }
  return { kind: 'upsert', batch: { ids, dimensions, vectors, metadata } };
}

/**
 * Returns null if packing does not pay off, or if a text is ill-formed, because encoding would
 * alter it.
 */
async function pack(texts: string[]): Promise<Pick<PackedUpsert, 'metadata' | 'metadataBytes'> | null> {
  if (texts.reduce((sum, { length }) => sum + length, 0) < PACKED_MIN_CHARS) return null;
  const metadataBytes = new Uint32Array(texts.length);
  let areWellFormed = true;
  await inSlices(texts, (text, row) => {
    areWellFormed &&= text.isWellFormed();
    metadataBytes[row] = Buffer.byteLength(text);
  });
  if (!areWellFormed) return null;
  const metadata = new Uint8Array(metadataBytes.reduce((sum, bytes) => sum + bytes, 0));
  const bytes = Buffer.from(metadata.buffer);
  let at = 0;
  await inSlices(texts, (text) => {
    at += bytes.write(text, at);
  });
  return { metadata, metadataBytes };
}

async function inSlices(texts: string[], visit: (text: string, row: number) => void): Promise<void> {
  let chars = 0;
  for (const [row, text] of texts.entries()) {
    visit(text, row);
    chars += text.length;
    if (chars < SLICE_CHARS) continue;
    chars = 0;
    await nextTurn();
  }
}

/** Whether the vectors fill their buffer. */
function isWhole(vectors: Float32Array): vectors is Float32Array<ArrayBuffer> {
  return !(vectors.buffer instanceof SharedArrayBuffer) && vectors.byteLength === vectors.buffer.byteLength;
}
