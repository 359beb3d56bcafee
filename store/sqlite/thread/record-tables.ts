import type { DatabaseSync } from 'node:sqlite';
import type { CollectionId } from '../../../lib/ids.ts';
import { STORED_ID_MAX_BYTES } from '../../../lib/records/namespace.ts';
import { parseShardKey, type ShardKey } from '../../../lib/shard/key.ts';
import {
  BatchWriter,
  decodeRecordId,
  idOf,
  isRecord,
  isRecordId,
  type RecordParts,
  type RecordRow,
  rowsIn,
} from '../record-batch.ts';
import { Transferred } from '../transferred.ts';
import { type Database, freshRow, freshRows, retryWhileBusy } from './database.ts';
import { FreePlaces, NUMBER_MAX, placeRange } from './record-places.ts';

/**
 * `seq` of a shard is the last seq applied. It is set in the same commit as the records, so no
 * tombstones are needed. A record's place is the shard's number and an offset, so a shard's records
 * are adjacent and scanned in file order.
 */
export const RECORDS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS shards (
    number INTEGER PRIMARY KEY, collection TEXT NOT NULL, shard INTEGER NOT NULL, seq INTEGER NOT NULL,
    nextPlace INTEGER NOT NULL DEFAULT 0, UNIQUE (collection, shard)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS records (
    place INTEGER PRIMARY KEY, shard INTEGER NOT NULL, id BLOB NOT NULL, seq INTEGER NOT NULL,
    vector BLOB NOT NULL, metadata BLOB NOT NULL, leaf BLOB NOT NULL, UNIQUE (shard, id)
  ) STRICT;
`;

const BATCH_BYTES = 1024 * 1024;
/** Shard -1 for a row whose id is not a BLOB: writes could not find it. */
const OWN_SHARD = "iif(typeof(id) = 'blob', CAST(shard AS REAL), -1)";
const PARTS = ['id', 'vector', 'metadata', 'leaf'].map((part) => `ifnull(${part}, x'')`);
/**
 * All parts in one BLOB, because each buffer that node:sqlite creates costs more than its content.
 * REAL, because node:sqlite throws for integers that are not exact, and one such row would hide all
 * others.
 */
const ROW = `length(${PARTS[0]}) AS idBytes, length(${PARTS[1]}) AS vectorBytes, length(${PARTS[2]}) AS metadataBytes,
  CAST(seq AS REAL) AS seq, ${OWN_SHARD} AS shard, CAST(${PARTS.join(' || ')} AS BLOB) AS bytes`;

interface ShardRow {
  number: number;
  seq: number;
}

interface Scan {
  connection: DatabaseSync;
  number: number;
  rows: Iterator<RecordRow & { shard: number }>;
}

export interface ScannedBatch {
  batch: ArrayBuffer;
  /** Ids of malformed records. */
  unreadable: string[];
  /** Ids of rows with another shard's number, or with an id that no record can have. */
  stray: string[];
  isLast: boolean;
}

/** A row within a shard's range. */
export interface PlacedRow {
  /** Offset into the range. */
  place: number;
  isOfNumber: 0 | 1;
  /** Truncated if it is too long for a record. */
  id: Uint8Array;
}

/** The materialised records, synchronous. */
export class RecordTables {
  readonly #database: Database;
  readonly #scans = new Map<number, Scan>();
  #nextScan = 1;

  constructor(database: Database) {
    this.#database = database;
  }

  apply(shard: ShardKey, fromSeq: number, throughSeq: number, batches: ArrayBuffer[]): void {
    const row = this.#row(shard);
    const mark = row?.seq ?? 0;
    if (mark >= throughSeq || mark < fromSeq) return;
    const { number } = row ?? this.#add(shard);
    const places = new FreePlaces(this.#database, number);
    for (const batch of batches) {
      for (const { id, parts } of rowsIn(batch)) {
        if (parts === null) this.#database.run('DELETE FROM records WHERE shard = ? AND id = ?', number, id);
        else this.#put(number, places.take(), parts);
      }
    }
    // Versions before this one use this counter.
    this.#database.run('UPDATE shards SET seq = ?, nextPlace = ? WHERE number = ?', throughSeq, places.next, number);
  }

  appliedSeq(shard: ShardKey): number {
    return this.#row(shard)?.seq ?? 0;
  }

  /** Starts a scan of the current state, through a connection with an empty cache. */
  openScan(shard: ShardKey): { scan: number; throughSeq: number } {
    const connection = this.#database.freshConnection();
    try {
      const { collectionId, index } = parseShardKey(shard);
      const row = retryWhileBusy(() => {
        if (!connection.isTransaction) connection.exec('BEGIN');
        const sql = `SELECT CAST(number AS REAL) AS number, CAST(seq AS REAL) AS seq FROM shards
          WHERE collection = ? AND shard = ?`;
        return freshRow<{ number: number; seq: number }>(connection, sql, collectionId, index);
      });
      const { number, seq } = row ?? { number: -1, seq: 0 };
      const sql = `SELECT ${ROW} FROM records WHERE place BETWEEN ? AND ? ORDER BY place`;
      const rows: Scan['rows'] = freshRows(connection, sql, ...placeRange(number));
      const scan = this.#nextScan++;
      this.#scans.set(scan, { connection, number, rows });
      return { scan, throughSeq: seq };
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Returns the next records of a scan, about 1 MiB; ends the scan with the last of them. */
  nextBatch(scan: number): Transferred<ScannedBatch> {
    const open = this.#scans.get(scan);
    if (open === undefined) throw new RangeError('the scan is over');
    const writer = new BatchWriter();
    const unreadable: string[] = [];
    const stray: string[] = [];
    let isLast = false;
    try {
      for (let bytes = 0; bytes < BATCH_BYTES && !isLast; ) {
        const { done = false, value } = open.rows.next();
        isLast = done;
        if (done) continue;
        // The place shows that the row is the shard's, but writes find it by number and id.
        const id = idOf(value);
        if (value.shard !== open.number || !isRecordId(id)) stray.push(decodeRecordId(id));
        else if (isRecord(value)) writer.put(value);
        else unreadable.push(decodeRecordId(id));
        bytes += value.bytes.byteLength;
      }
    } catch (error) {
      this.closeScan(scan);
      throw error;
    }
    if (isLast) this.closeScan(scan);
    const batch = writer.take();
    return new Transferred({ batch, unreadable, stray, isLast }, [batch]);
  }

  /** Idempotent. */
  closeScan(scan: number): void {
    this.#scans.get(scan)?.connection.close();
    this.#scans.delete(scan);
  }

  /** Returns the rows after the place at offset `after` of a shard's range, in order. */
  rowsAfter(shard: ShardKey, after: number, limit: number): PlacedRow[] {
    const row = this.#row(shard);
    if (row === undefined) return [];
    const [first, last] = placeRange(row.number);
    const sql = `SELECT place - ? AS place, (shard = ? AND typeof(id) = 'blob') AS isOfNumber,
      CAST(ifnull(substr(id, 1, ?), '') AS BLOB) AS id FROM records WHERE place > ? AND place <= ? ORDER BY place LIMIT ?`;
    const values = [first, row.number, STORED_ID_MAX_BYTES + 1, first + BigInt(after), last, limit];
    return this.#database.all<PlacedRow>(sql, ...values);
  }

  removeAt(shard: ShardKey, places: number[]): void {
    const row = this.#row(shard);
    if (row === undefined) return;
    const [first] = placeRange(row.number);
    for (const place of places) this.#database.run('DELETE FROM records WHERE place = ?', first + BigInt(place));
  }

  /**
   * Removes up to `limit` records of a collection, and shards without records; returns true once
   * nothing is left.
   */
  dropSlice(collectionId: CollectionId, limit: number): boolean {
    const shards = this.#database.all<ShardRow>('SELECT * FROM shards WHERE collection = ?', collectionId);
    const sql = `DELETE FROM records WHERE place IN
      (SELECT place FROM records WHERE place BETWEEN ? AND ? ORDER BY place LIMIT ?)`;
    for (const { number } of shards) {
      if (this.#database.run(sql, ...placeRange(number), limit) === limit) return false;
      this.#database.run('DELETE FROM shards WHERE number = ?', number);
    }
    return true;
  }

  close(): void {
    for (const scan of [...this.#scans.keys()]) this.closeScan(scan);
  }

  #row(shard: ShardKey): ShardRow | undefined {
    const { collectionId, index } = parseShardKey(shard);
    const sql = 'SELECT number, seq FROM shards WHERE collection = ? AND shard = ?';
    return this.#database.get<ShardRow>(sql, collectionId, index);
  }

  /** Assigns the number after the highest one whose successor is free. */
  #add(shard: ShardKey): ShardRow {
    const { collectionId, index } = parseShardKey(shard);
    const sql = `INSERT INTO shards (number, collection, shard, seq) SELECT COALESCE((
        SELECT number + 1 FROM shards AS taken WHERE number >= 0 AND number < ?
          AND NOT EXISTS (SELECT 1 FROM shards WHERE number = taken.number + 1) ORDER BY number DESC LIMIT 1
      ), 1), ?, ?, 0 RETURNING number, seq`;
    return this.#database.getOne<ShardRow>(sql, NUMBER_MAX, collectionId, index);
  }

  /** A replaced record keeps its place. */
  #put(number: number, place: bigint, { id, seq, vector, metadata, leaf }: RecordParts): void {
    const sql = `INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (shard, id) DO UPDATE SET
      seq = excluded.seq, vector = excluded.vector, metadata = excluded.metadata, leaf = excluded.leaf`;
    this.#database.run(sql, place, number, id, seq, vector, metadata, leaf);
  }
}
