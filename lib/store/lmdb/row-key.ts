import { hash } from 'node:crypto';
import { parseShardKey, type ShardKey } from '../../shard/shard-key.ts';

/**
 * Keys of rows are concatenations of parts whose length their first byte fixes, so that no two different lists of parts give one key and a list of parts is
 * a prefix of exactly the keys that start with those parts. Bytes sort as LMDB sorts them: numbers are big-endian.
 */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_TAG = 1;
const HASH_TAG = 2;
/** A record's id is the last part of its key as it is; LMDB takes keys of up to 1,978 bytes. */
const RECORD_ID_MAX_BYTES = 512;

/** An id or name of any length as a key part: a UUID as its 16 bytes, anything else as its SHA-256. */
export function idPart(id: string): Buffer {
  if (UUID.test(id)) return Buffer.from(`0${UUID_TAG}${id.replaceAll('-', '')}`, 'hex');
  assertWellFormed(id);
  return Buffer.concat([Buffer.of(HASH_TAG), hash('sha256', id, 'buffer')]);
}

/** A safe integer >= 0 as 8 bytes that sort by value. */
export function numberPart(value: number): Buffer {
  const part = Buffer.alloc(8);
  part.writeBigUInt64BE(BigInt(value));
  return part;
}

/** The number that the last 8 bytes of a key hold. */
export function lastNumber(key: Uint8Array): number {
  return Number(Buffer.from(key.buffer, key.byteOffset, key.byteLength).readBigUInt64BE(key.byteLength - 8));
}

/** Collection and shard index as a key part; a collection's shards sort by index. */
export function shardPart(shard: ShardKey): Buffer {
  const { collectionId, index } = parseShardKey(shard);
  const number = Buffer.alloc(2);
  number.writeUInt16BE(index);
  return Buffer.concat([idPart(collectionId), number]);
}

/** The index that the last 2 bytes of a shard's part hold. */
export function shardIndex(part: Uint8Array): number {
  return (part[part.byteLength - 2] << 8) | part[part.byteLength - 1];
}

/** A record's key: its shard's part and its id in UTF-8. Throws RangeError on ids that the API refuses. */
export function recordKey(shard: Uint8Array, id: string): Buffer {
  assertWellFormed(id);
  const bytes = Buffer.byteLength(id);
  if (bytes === 0 || bytes > RECORD_ID_MAX_BYTES)
    throw new RangeError(`a record id has 1 to ${RECORD_ID_MAX_BYTES} bytes`);
  const key = Buffer.allocUnsafe(shard.byteLength + bytes);
  key.set(shard);
  key.write(id, shard.byteLength);
  return key;
}

/** The range of all keys that start with `prefix`. */
export function prefixRange(prefix: Uint8Array): { start: Buffer; end: Buffer } {
  const end = Buffer.from(prefix);
  let last = end.length - 1;
  while (last >= 0 && end[last] === 0xff) last--;
  if (last < 0) throw new RangeError('a prefix of 0xff bytes has no end');
  end[last]++;
  return { start: Buffer.from(prefix), end: end.subarray(0, last + 1) };
}

/** The least key greater than `key`. */
export function keyAfter(key: Uint8Array): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}

/** Two different ill-formed strings can have one UTF-8 form. */
function assertWellFormed(id: string): void {
  if (!id.isWellFormed()) throw new RangeError('an id is well-formed Unicode');
}
