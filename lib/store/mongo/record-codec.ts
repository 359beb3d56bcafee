import { Binary } from 'mongodb';
import type { StoredRecord } from '../records.ts';
import { lastRecordId } from './document-id.ts';
import { bytesOf } from './head-codec.ts';

const LEAF_BYTES = 32;

/**
 * A record, or with `gone` what a delete leaves: the seq that no older write may come back over.
 * `_id` is shard, generation and id. There is no checksum on purpose: what these bytes must be is
 * proved by the leaf and the roots above it, and verify names a record that differs.
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

export function encodeRecord(_id: string, { seq, vector, metadata, leaf }: StoredRecord): RecordDocument {
  if (leaf.byteLength !== LEAF_BYTES) throw new RangeError(`a leaf has ${LEAF_BYTES} bytes, not ${leaf.byteLength}`);
  return {
    _id,
    seq,
    vector: new Binary(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)),
    metadata: new Binary(metadata),
    leaf: new Binary(leaf),
  };
}

/** Copies all parts; null when the document is no record. */
export function decodeRecord(document: RecordDocument): StoredRecord | null {
  const [vector, metadata, leaf] = [bytesOf(document.vector), bytesOf(document.metadata), bytesOf(document.leaf)];
  if (!Number.isSafeInteger(document.seq) || !vector || vector.byteLength % 4 !== 0) return null;
  if (!metadata || leaf?.byteLength !== LEAF_BYTES) return null;
  return { id: lastRecordId(document._id), seq: document.seq, vector: new Float32Array(vector.buffer), metadata, leaf };
}

/** About what a record takes on its way. */
export function sizeOf({ _id, vector, metadata }: RecordDocument): number {
  return _id.length + (vector?.position ?? 0) + (metadata?.position ?? 0) + LEAF_BYTES;
}
