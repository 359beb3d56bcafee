import { endianness } from 'node:os';
import type { StoredRecord } from '../records.ts';

/**
 * A record's value: f64le seq, u32le dimensions, 32 bytes leaf, f32le vector, metadata. Its id stands in the key. There is no checksum on purpose: what these
 * bytes must be is proved by the leaf and the roots above it, and verify names a record that differs.
 */
const LEAF_BYTES = 32;
const VECTOR_OFFSET = 8 + 4 + LEAF_BYTES;

// Vectors are copied as the machine holds them; every platform that lmdb and usearch are built for is little-endian.
if (endianness() !== 'LE') throw new Error('Provec needs a little-endian machine.');

export function encodeRecord(record: StoredRecord): Buffer {
  const { vector, metadata, leaf } = record;
  if (leaf.byteLength !== LEAF_BYTES) throw new RangeError(`a leaf has ${LEAF_BYTES} bytes, not ${leaf.byteLength}`);
  const value = Buffer.allocUnsafe(VECTOR_OFFSET + vector.byteLength + metadata.byteLength);
  value.writeDoubleLE(record.seq, 0);
  value.writeUInt32LE(vector.length, 8);
  value.set(leaf, 12);
  value.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), VECTOR_OFFSET);
  value.set(metadata, VECTOR_OFFSET + vector.byteLength);
  return value;
}

/** Copies all parts; null when the bytes are not those of a record. */
export function decodeRecord(id: string, value: Uint8Array): StoredRecord | null {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  if (value.byteLength < VECTOR_OFFSET) return null;
  const vectorEnd = VECTOR_OFFSET + view.getUint32(8, true) * 4;
  if (value.byteLength < vectorEnd) return null;
  return {
    id,
    seq: view.getFloat64(0, true),
    vector: new Float32Array(new Uint8Array(value.subarray(VECTOR_OFFSET, vectorEnd)).buffer),
    metadata: new Uint8Array(value.subarray(vectorEnd)),
    leaf: new Uint8Array(value.subarray(12, 12 + LEAF_BYTES)),
  };
}
