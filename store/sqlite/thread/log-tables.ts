import { hash as hashOf } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { CollectionId } from '../../../lib/ids.ts';
import { EMPTY_HEAD, invalidHead, isInvalidHead, type ShardHead } from '../../../lib/shard/head.ts';
import { parseShardKey, type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import { damagedEntry, type LogEntry, type Tally } from '../../log.ts';
import { isSameLink, type LinkedEntry, type LinkedSeq, type LogSeals, NO_LINK } from '../../log-seals.ts';
import { decodeRow, type HeadRow, headOf } from '../row-codec.ts';
import { damagedValue } from '../store-failure.ts';
import { freeBuffers, Transferred } from '../transferred.ts';
import { type Database, freshRow, freshRows } from './database.ts';
import type { HeadCache } from './head-cache.ts';
import type { UsageTables } from './usage-tables.ts';

/**
 * A shard's row holds its head and the link of its newest entry, under a seal (log-seals.ts). It
 * stays when its entries are trimmed.
 */
export const LOG_SCHEMA = `
  CREATE TABLE IF NOT EXISTS shards (
    number INTEGER PRIMARY KEY, collection TEXT NOT NULL, shard INTEGER NOT NULL,
    seq INTEGER NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL, hash BLOB NOT NULL, count INTEGER NOT NULL,
    link BLOB NOT NULL, seal BLOB NOT NULL, UNIQUE (collection, shard)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS entries (
    place INTEGER PRIMARY KEY, shard INTEGER NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL,
    entryId TEXT NOT NULL, kind TEXT NOT NULL,
    version INTEGER NOT NULL, type TEXT NOT NULL, hash BLOB NOT NULL, count INTEGER NOT NULL,
    tally TEXT, body BLOB NOT NULL, bodyHash BLOB NOT NULL, before BLOB NOT NULL, link BLOB NOT NULL, UNIQUE (shard, seq)
  ) STRICT;
`;

export const SHARD = 'number, shard, seq, version, type, hash, count, link, seal';
/**
 * Columns of an entry. REAL, because node:sqlite throws for integers that are not exact, and one
 * such row would hide all others. For many rows this is faster than the conversion in `Database`.
 */
export const ENTRY = `CAST(seq AS REAL) AS seq, CAST(epoch AS REAL) AS epoch, entryId, kind, CAST(version AS REAL) AS version,
  type, hash, CAST(count AS REAL) AS count, tally, body, bodyHash, before, link`;

export interface StoredShard extends HeadRow {
  number: number;
  shard: number;
  link: Uint8Array;
  seal: Uint8Array;
}

export interface EntryRow extends HeadRow {
  epoch: number;
  entryId: string;
  kind: string;
  tally: string | null;
  body: Uint8Array<ArrayBuffer>;
  bodyHash: Uint8Array;
  before: Uint8Array;
  link: Uint8Array;
}

/** Entries, heads and tallies in one file, so that one commit covers all three; synchronous. */
export class LogTables {
  readonly #database: Database;
  readonly #usage: UsageTables;
  readonly #seals: LogSeals;
  readonly #heads: HeadCache | null;

  /** `heads` must be null if other code writes to these tables through the same connection. */
  constructor(database: Database, usage: UsageTables, seals: LogSeals, heads: HeadCache | null) {
    this.#database = database;
    this.#usage = usage;
    this.#seals = seals;
    this.#heads = heads;
  }

  append(entry: LogEntry): 'committed' | 'conflict' {
    const { shard, seq, head, body } = entry;
    this.#heads?.forget(shard);
    const row = this.#row(shard);
    const newest = row === undefined ? EMPTY_HEAD : this.#headOf(shard, row);
    if (seq <= newest.seq) return 'conflict';
    if (seq > newest.seq + 1) {
      if (isInvalidHead(newest)) throw damagedValue('A shard head');
      throw new RangeError(`entry ${seq} would leave a gap after ${newest.seq}`);
    }
    const before = row?.link ?? NO_LINK;
    const bodyHash = bodyDigest(body);
    const link = this.#seals.link({ entry, bodyHash, before });
    const number = this.#writeHead(shard, head, link, row);
    this.#writeEntry(number, { entry, bodyHash, before, link }, body);
    if (entry.tally !== null) this.#usage.tally(shard, entry.tally);
    return 'committed';
  }

  read(shard: ShardKey, afterSeq: number, maxBytes: number): Transferred<LogEntry[]> {
    const number = this.#row(shard)?.number;
    if (number === undefined) return new Transferred([], []);
    const sql = `SELECT ${ENTRY} FROM entries WHERE shard = ? AND seq > ? ORDER BY entries.seq`;
    // Replay and verification must see what is on the disk.
    const entries = this.#database.fresh((connection) => {
      const found: LogEntry[] = [];
      let bytes = 0;
      for (const row of freshRows<EntryRow>(connection, sql, number, afterSeq)) {
        const entry = this.#entryOf(shard, row);
        bytes += entry.body.byteLength;
        if (found.length > 0 && bytes > maxBytes) {
          freeBuffers([entry.body.buffer]);
          break;
        }
        found.push(entry);
      }
      return found;
    });
    return new Transferred(
      entries,
      entries.map(({ body }) => body.buffer),
    );
  }

  /**
   * Verifies about `maxBytes` of entries after `after` through `throughSeq`. Returns the seq of the
   * first altered entry, and the entry to continue after, null at the end.
   */
  auditSlice(
    shard: ShardKey,
    after: LinkedSeq | null,
    throughSeq: number,
    maxBytes: number,
  ): { altered: number | null; after: LinkedSeq | null } {
    const row = this.#row(shard);
    if (row === undefined) return { altered: null, after: null };
    return this.#database.fresh((connection) => {
      // A transaction, because other processes append to the log and trim it.
      if (!connection.isTransaction) connection.exec('BEGIN');
      const { number } = row;
      const sql = 'SELECT CAST(min(seq) AS REAL) AS seq FROM entries WHERE shard = ?';
      const firstSeq = freshRow<{ seq: number | null }>(connection, sql, number)?.seq;
      if (!firstSeq) return { altered: null, after: null };
      // The entries in between were trimmed in the meantime.
      const before = after !== null && firstSeq > after.seq + 1 ? null : after;
      const linked = this.#linkedEntries(connection, shard, number, after?.seq ?? 0, throughSeq, maxBytes);
      const altered = this.#seals.firstAltered(linked, before);
      const last = linked.at(-1);
      if (altered !== null) return { altered, after: null };
      if (last !== undefined) return { altered: null, after: { seq: last.entry.seq, link: last.link } };
      const sqlOfHead = 'SELECT CAST(seq AS REAL) AS seq, link FROM shards WHERE number = ?';
      const head = freshRow<LinkedSeq>(connection, sqlOfHead, number);
      // The collection was deleted in the meantime.
      if (head === undefined) return { altered: null, after: null };
      const { seq, link } = head;
      const isEnd = before !== null && throughSeq >= seq;
      const isCut = isEnd && (before.seq < seq || !isSameLink(bytesOf(link), before.link));
      return { altered: isCut ? Math.min(before.seq + 1, seq) : null, after: null };
    });
  }

  head(shard: ShardKey): ShardHead | null {
    const row = this.#row(shard);
    return row === undefined ? null : this.#headOf(shard, row);
  }

  heads(collectionId: CollectionId): Map<number, ShardHead> {
    const readAll = (): Map<number, ShardHead> => {
      const sql = `SELECT ${SHARD} FROM shards WHERE collection = ? ORDER BY shard`;
      const rows = this.#database.allUntyped<StoredShard>(sql, collectionId);
      return new Map(rows.map((row) => [row.shard, this.#headOf(shardKey(collectionId, row.shard), row)]));
    };
    if (this.#heads === null) return readAll();
    return this.#heads.get(collectionId, (index) => this.head(shardKey(collectionId, index)), readAll);
  }

  /** Removes up to `limit` entries up to and including `throughSeq`; returns their number. */
  trimSlice(shard: ShardKey, throughSeq: number, limit: number): number {
    const number = this.#row(shard)?.number;
    return number === undefined ? 0 : this.#removeEntries(number, throughSeq, limit);
  }

  firstSeq(shard: ShardKey): number | null {
    const number = this.#row(shard)?.number;
    if (number === undefined) return null;
    const sql = 'SELECT CAST(min(seq) AS REAL) AS seq FROM entries WHERE shard = ?';
    return this.#database.getOne<{ seq: number | null }>(sql, number).seq;
  }

  /**
   * Removes up to `limit` entries per shard of a collection, and shards without entries; returns
   * true once nothing is left.
   */
  dropSlice(collectionId: CollectionId, limit: number): boolean {
    this.#heads?.drop(collectionId);
    const sql = 'SELECT number FROM shards WHERE collection = ?';
    for (const { number } of this.#database.all<{ number: number }>(sql, collectionId)) {
      if (this.#removeEntries(number, Number.MAX_SAFE_INTEGER, limit) === limit) return false;
      this.#database.run('DELETE FROM shards WHERE number = ?', number);
    }
    return true;
  }

  #removeEntries(number: number, throughSeq: number, limit: number): number {
    const sql = `DELETE FROM entries WHERE place IN
      (SELECT place FROM entries WHERE shard = ? AND seq <= ? ORDER BY seq LIMIT ?)`;
    return this.#database.run(sql, number, throughSeq, limit);
  }

  #row(shard: ShardKey): StoredShard | undefined {
    const { collectionId, index } = parseShardKey(shard);
    const sql = `SELECT ${SHARD} FROM shards WHERE collection = ? AND shard = ?`;
    const row = this.#database.getUntyped<StoredShard>(sql, collectionId, index);
    return row && { ...row, link: bytesOf(row.link) };
  }

  #headOf(shard: ShardKey, row: StoredShard): ShardHead {
    try {
      const head = this.#seals.sealedHead(shard, headOf(row), row.link, row.seal);
      if (head !== null) return head;
    } catch {
      // Handled below.
    }
    return invalidHead(row.seq);
  }

  #writeHead(shard: ShardKey, head: ShardHead, link: Uint8Array, before: StoredShard | undefined): number {
    const { seq, version, type, hash, count } = head;
    const values = [seq, version, type, hash, count, link, this.#seals.head(shard, head, link)];
    if (before !== undefined) {
      const sql = `UPDATE shards SET seq = ?, version = ?, type = ?, hash = ?, count = ?, link = ?, seal = ?
        WHERE number = ?`;
      this.#database.run(sql, ...values, before.number);
      return before.number;
    }
    const { collectionId, index } = parseShardKey(shard);
    const sql = `INSERT INTO shards (seq, version, type, hash, count, link, seal, collection, shard)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`;
    return this.#database.getOne<{ number: number }>(sql, ...values, collectionId, index).number;
  }

  /** Replaces any row past the end of the log, which the service cannot have written. */
  #writeEntry(number: number, { entry, bodyHash, before, link }: LinkedEntry, body: Uint8Array): void {
    const { seq, epoch, entryId, kind, head, tally } = entry;
    const { version, type, hash, count } = head;
    const values = [number, seq, epoch, entryId, kind, version, type, hash, count, tally && JSON.stringify(tally)];
    const sql = `INSERT OR REPLACE INTO entries
      (shard, seq, epoch, entryId, kind, version, type, hash, count, tally, body, bodyHash, before, link)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    this.#database.run(sql, ...values, body, bodyHash, before, link);
  }

  #linkedEntries(
    connection: DatabaseSync,
    shard: ShardKey,
    number: number,
    afterSeq: number,
    throughSeq: number,
    maxBytes: number,
  ): LinkedEntry[] {
    const sql = `SELECT ${ENTRY} FROM entries
      WHERE shard = ? AND seq > ? AND seq <= ? ORDER BY entries.seq`;
    const linked: LinkedEntry[] = [];
    let bytes = 0;
    for (const row of freshRows<EntryRow>(connection, sql, number, afterSeq, throughSeq)) {
      const { body, ...entry } = this.#entryOf(shard, row);
      linked.push({ entry, bodyHash: bodyDigest(body), before: row.before, link: row.link });
      bytes += body.byteLength;
      if (bytes > maxBytes) break;
    }
    return linked;
  }

  /** Returns an entry of kind 'damaged' if the row is malformed or the service did not write it. */
  #entryOf(shard: ShardKey, row: EntryRow): LogEntry {
    try {
      const { body, bodyHash, before, link } = row;
      if (!(body instanceof Uint8Array)) return damagedEntry(shard, row.seq);
      const entry = this.#seals.linked({ entry: entryOf(shard, row), bodyHash, before, link });
      if (entry !== null) return { ...entry, body };
    } catch {
      // Handled below.
    }
    return damagedEntry(shard, row.seq);
  }
}

/** Returns an empty link for a value that is not bytes. */
const bytesOf = (value: unknown): Uint8Array => (value instanceof Uint8Array ? value : new Uint8Array(0));

export const bodyDigest = (bytes: Uint8Array): Buffer => hashOf('sha256', bytes, 'buffer');

/** Decodes the entry of an untrusted row. Throws StoreError 'damaged'. */
export function entryOf(shard: ShardKey, row: EntryRow): LinkedEntry['entry'] {
  const { seq, epoch, entryId, kind, tally } = row;
  return {
    shard,
    seq,
    epoch,
    entryId,
    kind: kind as LogEntry['kind'],
    head: headOf(row),
    tally: tally === null ? null : decodeRow<Tally>(tally, 'A tally'),
  };
}
