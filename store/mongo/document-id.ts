import { hash } from 'node:crypto';
import type { IdOf } from '../../lib/ids.ts';
import { STORED_ID_MAX_BYTES } from '../../lib/records/namespace.ts';
import { parseShardKey, type ShardKey } from '../../lib/shard/key.ts';

/**
 * `_id`s are strings of parts joined by dots, such as `<collection>.<shard index>.<seq>`. Parts
 * contain no dot and numbers are padded, so different lists of parts never give the same `_id`, and
 * a shard's documents are a range of `_id`s ordered by number. The `_id` index, which every server
 * has, is the only one they need. Every compatible server orders strings by their bytes, and people
 * can read them.
 */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NUMBER_DIGITS = 16;
const INDEX_DIGITS = 3;
const SEPARATOR = '.';
const AFTER_SEPARATOR = '/';

/** An id or name as a part of `_id`s, made by `idPart`. */
export type IdPart = IdOf<'part of a document id'>;

export interface IdRange {
  $gte: string;
  $lt: string;
}

/**
 * Encodes an id or name of any form as a part, also usable as a field name: a UUID unchanged,
 * anything else as its SHA-256.
 */
export function idPart(id: string): IdPart {
  if (UUID.test(id)) return id;
  // Two different ill-formed strings can have the same UTF-8 encoding.
  if (!id.isWellFormed()) throw new RangeError('an id must be well-formed Unicode');
  return `~${hash('sha256', id, 'hex')}`;
}

/** Encodes a safe integer >= 0 as a part; parts sort by value. */
export function numberPart(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a safe integer >= 0`);
  return String(value).padStart(NUMBER_DIGITS, '0');
}

export function lastNumber(id: string): number {
  return Number(id.slice(-NUMBER_DIGITS));
}

/** Encodes a shard key as a part; a collection's shards sort by index. */
export function shardPart(shard: ShardKey): string {
  const { collectionId, index } = parseShardKey(shard);
  if (!Number.isInteger(index) || index < 0 || index >= 10 ** INDEX_DIGITS) throw new RangeError('not a shard key');
  return joined(idPart(collectionId), String(index).padStart(INDEX_DIGITS, '0'));
}

/**
 * Encodes a record id as a part of up to 1,368 characters. Throws RangeError on ids that the API
 * refuses.
 */
export function recordPart(id: string): string {
  if (!id.isWellFormed()) throw new RangeError('an id must be well-formed Unicode');
  const bytes = Buffer.from(id);
  if (bytes.length === 0 || bytes.length > STORED_ID_MAX_BYTES)
    throw new RangeError(`a record id must have 1 to ${STORED_ID_MAX_BYTES} bytes`);
  return bytes.toString('base64url');
}

/**
 * Returns the record id at the end of an `_id`. Two different `_id`s can give the same record id.
 */
export function lastRecordId(id: string): string {
  return Buffer.from(id.slice(id.lastIndexOf(SEPARATOR) + 1), 'base64url').toString();
}

/** Returns whether `_id` is exactly how a record id is encoded under `prefix`. */
export function isRecordUnder(prefix: string, id: string): boolean {
  const bytes = Buffer.from(lastRecordId(id));
  const isLong = bytes.length > STORED_ID_MAX_BYTES;
  return bytes.length > 0 && !isLong && id === joined(prefix, bytes.toString('base64url'));
}

export function joined(...parts: string[]): string {
  return parts.join(SEPARATOR);
}

/** Returns the range of all `_id`s that start with these parts. */
export function under(...parts: string[]): IdRange {
  return { $gte: joined(...parts, ''), $lt: joined(...parts) + AFTER_SEPARATOR };
}

/**
 * Returns the range of `<shard>.<number>` with a number in [from, through], and of all `_id`s below
 * those.
 */
export function numbered(shard: string, from: number, through: number): IdRange {
  return { $gte: joined(shard, numberPart(from)), $lt: joined(shard, numberPart(through)) + AFTER_SEPARATOR };
}
