/**
 * The hashes of a record in format PV1. They are permanent: changing one byte here changes every
 * root ever anchored and breaks the golden vectors (test/golden/merkle.json) and the offline
 * verifier (client/verify/).
 */
import assert from 'node:assert/strict';
import { endianness } from 'node:os';
import { HASH_BYTES, sha256 } from './sha256.ts';

const KEY_TAG = Buffer.from('PV1key\0', 'latin1');
const VECTOR_TAG = Buffer.from('PV1vec\0', 'latin1');
const METADATA_TAG = Buffer.from('PV1met\0', 'latin1');
const FLOAT32 = 1;
/** Tag, element type (u8), dimensions (u32le). A multiple of 4 aligns the floats that follow. */
const VECTOR_HEADER_BYTES = VECTOR_TAG.length + 1 + 4;

assert.equal(endianness(), 'LE', 'PV1 hashes vectors as little-endian bytes straight from memory');

let vectorScratch = vectorInput(1_024);
const leafScratch = Buffer.alloc(1 + 3 * HASH_BYTES);

function vectorInput(dimensions: number): { bytes: Buffer; floats: Float32Array } {
  const memory = new ArrayBuffer(VECTOR_HEADER_BYTES + 4 * dimensions);
  const bytes = Buffer.from(memory);
  VECTOR_TAG.copy(bytes);
  bytes[VECTOR_TAG.length] = FLOAT32;
  return { bytes, floats: new Float32Array(memory, VECTOR_HEADER_BYTES) };
}

function utf8(text: string, what: string): Buffer {
  if (!text.isWellFormed()) throw new RangeError(`${what} must be well-formed Unicode`);
  return Buffer.from(text, 'utf8');
}

/** Returns the 32-byte key of a record in the map. Throws RangeError on ill-formed Unicode. */
export function keyHashOf(id: string): Buffer {
  return sha256(Buffer.concat([KEY_TAG, utf8(id, 'id')]));
}

/** Returns 32 bytes; -0 is hashed as +0. Throws RangeError on NaN and infinities. */
export function vecHashOf(vector: Float32Array): Buffer {
  const dimensions = vector.length;
  if (dimensions > vectorScratch.floats.length) vectorScratch = vectorInput(dimensions);
  const { bytes, floats } = vectorScratch;
  bytes.writeUInt32LE(dimensions, VECTOR_TAG.length + 1);
  for (let i = 0; i < dimensions; i++) {
    const value = vector[i]!;
    if (!Number.isFinite(value)) throw new RangeError(`values[${i}] must be finite`);
    floats[i] = value + 0; // -0 + 0 is +0
  }
  return sha256(bytes.subarray(0, VECTOR_HEADER_BYTES + 4 * dimensions));
}

/** Hashes canonical JSON (RFC 8785) to 32 bytes. Throws RangeError on ill-formed Unicode. */
export function metaHashOf(canonicalJson: string | Uint8Array): Buffer {
  const bytes = typeof canonicalJson === 'string' ? utf8(canonicalJson, 'metadata') : canonicalJson;
  return sha256(Buffer.concat([METADATA_TAG, bytes]));
}

/** Returns a record's leaf: SHA256(00 || key || vecHash || metaHash). */
export function leafHashOf(key: Uint8Array, vecHash: Uint8Array, metaHash: Uint8Array): Buffer {
  for (const part of [key, vecHash, metaHash]) assert.equal(part.length, HASH_BYTES);
  leafScratch.set(key, 1);
  leafScratch.set(vecHash, 1 + HASH_BYTES);
  leafScratch.set(metaHash, 1 + 2 * HASH_BYTES);
  return sha256(leafScratch);
}
