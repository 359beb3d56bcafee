/**
 * A write in the form that a message carries. Strings are copied into a message when it is posted,
 * in one piece; megabytes of metadata are made bytes before, in pieces, and handed over.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ShardWrite } from '../engine/write.ts';

const PACKED_MIN_CHARS = 2 * 1024 * 1024;
/** Encoded within two milliseconds or so. */
const SLICE_CHARS = 1024 * 1024;

interface PackedUpsert {
  kind: 'packed upsert';
  ids: string[];
  dimensions: number;
  vectors: Float32Array;
  /** Canonical JSON of all records in UTF-8, one after the other. */
  metadata: Uint8Array<ArrayBuffer>;
  metadataBytes: Uint32Array<ArrayBuffer>;
}

export type PostedWrite = ShardWrite | PackedUpsert;

/**
 * A write to be posted alone: what can be handed over is, so that it is gone here, unless whoever
 * sent it may send it once more (`isKept`).
 */
export async function posted(
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

/** The write as it was before it was posted. */
export function received(write: PostedWrite): ShardWrite {
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
 * Null where it does not pay, and where texts are not well-formed: as bytes they would be others.
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

/** Whether nothing else lies in its buffer. */
function isWhole(vectors: Float32Array): vectors is Float32Array<ArrayBuffer> {
  return !(vectors.buffer instanceof SharedArrayBuffer) && vectors.byteLength === vectors.buffer.byteLength;
}
