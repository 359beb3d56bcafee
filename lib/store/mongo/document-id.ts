import { hash } from 'node:crypto';
import { STORED_ID_MAX_BYTES } from '../../records/namespace.ts';
import { parseShardKey, type ShardKey } from '../../shard/key.ts';

/**
 * `_id`s are strings of parts joined by dots: `<collection>.<shard index>.<seq>` and the like.
 * Parts hold no dot and numbers are padded, so that no two lists of parts give one `_id` and the
 * documents of a shard are a range of `_id`s in order of their number: the index that every server
 * has is the only one they need. Strings, because every compatible server orders those by their
 * bytes, and because a person can read them.
 */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NUMBER_DIGITS = 16;
const INDEX_DIGITS = 3;
const SEPARATOR = '.';
const AFTER_SEPARATOR = '/';

/** A range of `_id`s. */
export interface IdRange {
  $gte: string;
  $lt: string;
}

/**
 * An id or name of any form as a part, and as a field name: a UUID as it is, anything else as its
 * SHA-256.
 */
export function idPart(id: string): string {
  if (UUID.test(id)) return id;
  // Two different ill-formed strings can have one UTF-8 form.
  if (!id.isWellFormed()) throw new RangeError('an id is well-formed Unicode');
  return `~${hash('sha256', id, 'hex')}`;
}

/** A safe integer >= 0 as a part; parts sort by value. */
export function numberPart(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is no number of a document`);
  return String(value).padStart(NUMBER_DIGITS, '0');
}

/** The number that an `_id` ends with. */
export function lastNumber(id: string): number {
  return Number(id.slice(-NUMBER_DIGITS));
}

/** A collection's shards sort by index. */
export function shardPart(shard: ShardKey): string {
  const { collectionId, index } = parseShardKey(shard);
  if (!Number.isInteger(index) || index < 0 || index >= 10 ** INDEX_DIGITS) throw new RangeError('no shard key');
  return joined(idPart(collectionId), String(index).padStart(INDEX_DIGITS, '0'));
}

/**
 * A record's id as a part of up to 1,368 characters. Throws RangeError on ids that the API refuses.
 */
export function recordPart(id: string): string {
  if (!id.isWellFormed()) throw new RangeError('an id is well-formed Unicode');
  const bytes = Buffer.from(id);
  if (bytes.length === 0 || bytes.length > STORED_ID_MAX_BYTES)
    throw new RangeError(`a record id has 1 to ${STORED_ID_MAX_BYTES} bytes`);
  return bytes.toString('base64url');
}

/** The record's id that an `_id` ends with: two of them can read as one id. */
export function lastRecordId(id: string): string {
  return Buffer.from(id.slice(id.lastIndexOf(SEPARATOR) + 1), 'base64url').toString();
}

/** Whether an `_id` is the one that a record has after `prefix`. */
export function isRecordUnder(prefix: string, id: string): boolean {
  const bytes = Buffer.from(lastRecordId(id));
  const isLong = bytes.length > STORED_ID_MAX_BYTES;
  return bytes.length > 0 && !isLong && id === joined(prefix, bytes.toString('base64url'));
}

export function joined(...parts: string[]): string {
  return parts.join(SEPARATOR);
}

/** All `_id`s that go on after these parts. */
export function under(...parts: string[]): IdRange {
  return { $gte: joined(...parts, ''), $lt: joined(...parts) + AFTER_SEPARATOR };
}

/** The `_id`s `<shard>.<number>` whose number is in [from, through], with whatever follows it. */
export function numbered(shard: string, from: number, through: number): IdRange {
  return { $gte: joined(shard, numberPart(from)), $lt: joined(shard, numberPart(through)) + AFTER_SEPARATOR };
}
