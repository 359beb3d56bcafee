/**
 * Computes the hashes of format PV1, which must equal the server's. Depends only on @noble/hashes.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonicalJson } from './canonical-json.ts';

const KEY_TAG = utf8ToBytes('PV1key\0');
const VECTOR_TAG = utf8ToBytes('PV1vec\0');
const METADATA_TAG = utf8ToBytes('PV1met\0');
const LEAF_TAG = Uint8Array.of(0);
const INNER_TAG = Uint8Array.of(1);
const FLOAT32 = 1;

/**
 * Returns a record's position in the Merkle map. The default namespace, '', adds nothing to it.
 * Throws TypeError for ill-formed Unicode, and for U+0000 in a namespace or at the beginning of an
 * id, where the key could be that of another record.
 */
export function keyHashOf(id: string, namespace = ''): Uint8Array {
  if (!id.isWellFormed() || id.startsWith('\0'))
    throw new TypeError('id must be well-formed Unicode that does not begin with U+0000');
  if (!namespace.isWellFormed() || namespace.includes('\0'))
    throw new TypeError('namespace must be well-formed Unicode without U+0000');
  const stored = namespace === '' ? id : `\0${namespace}\0${id}`;
  return sha256(concatBytes(KEY_TAG, utf8ToBytes(stored)));
}

/**
 * Hashes the values as float32; -0 counts as +0. Throws TypeError unless `values` is an array or
 * typed array of at least one number, and all numbers are finite as float32.
 */
export function vecHashOf(values: ArrayLike<number>): Uint8Array {
  // Other objects with a length may have fields that the hash does not cover.
  const isList = Array.isArray(values) || (ArrayBuffer.isView(values) && 'length' in values);
  if (!isList || values.length === 0) throw new TypeError('values must be an array of at least one number');
  const bytes = new DataView(new ArrayBuffer(5 + 4 * values.length));
  bytes.setUint8(0, FLOAT32);
  bytes.setUint32(1, values.length, true);
  for (let i = 0; i < values.length; i++) {
    // Converting null to 0 or '1' to 1 would accept a record that differs from the caller's.
    if (typeof values[i] !== 'number') throw new TypeError(`values[${i}] must be a number`);
    const value = Math.fround(values[i]);
    if (!Number.isFinite(value)) throw new TypeError(`values[${i}] must be finite within float32`);
    bytes.setFloat32(5 + 4 * i, value + 0, true); // -0 + 0 is +0
  }
  return sha256(concatBytes(VECTOR_TAG, new Uint8Array(bytes.buffer)));
}

/** Hashes the metadata as canonical JSON. Throws TypeError if it is not an object. */
export function metaHashOf(metadata: object): Uint8Array {
  const isObject = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
  if (!isObject) throw new TypeError('metadata must be an object');
  return sha256(concatBytes(METADATA_TAG, utf8ToBytes(canonicalJson(metadata))));
}

/** Returns the hash of a subtree with one record. */
export function leafHashOf(key: Uint8Array, vecHash: Uint8Array, metaHash: Uint8Array): Uint8Array {
  return sha256(concatBytes(LEAF_TAG, key, vecHash, metaHash));
}

/** Returns the hash of a subtree with several records, from the hashes of its halves. */
export function innerHashOf(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(concatBytes(INNER_TAG, left, right));
}

/** Returns bit `depth` of a key, most significant first. */
export function bitOf(key: Uint8Array, depth: number): number {
  return (key[depth >>> 3]! >>> (7 - (depth & 7))) & 1;
}
