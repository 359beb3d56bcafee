import { hash as hashOf } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { ShardHead } from '../../../shard/shard-head.ts';
import { parseShardKey, type ShardKey } from '../../../shard/shard-key.ts';
import { damagedEntry, type LogEntry, type Tally } from '../../log.ts';
import { firstAltered, isSameLink, type LinkedEntry, type LinkedSeq, linkAfter, NO_LINK } from '../../log-link.ts';
import { decodeRow, type HeadRow, headOf } from '../row-codec.ts';
import { freeBuffers, Transferred } from '../transferred.ts';
import type { Database } from './database.ts';
import type { UsageTables } from './usage-tables.ts';

/**
 * A shard's row holds its head and the link of its newest entry, and outlives its entries. The checksum is a CRC-32 of an entry's
 * other columns but for its body, which has none on purpose: the root in the head proves it, so that a body that was changed is
 * noticed when it is replayed or verified, and verify can name the record.
 */
export const LOG_SCHEMA = `
  CREATE TABLE IF NOT EXISTS shards (
    number INTEGER PRIMARY KEY, collection TEXT NOT NULL, shard INTEGER NOT NULL,
    seq INTEGER NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL, hash BLOB NOT NULL, count INTEGER NOT NULL,
    link BLOB NOT NULL, UNIQUE (collection, shard)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS entries (
    place INTEGER PRIMARY KEY, shard INTEGER NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL,
    entryId TEXT NOT NULL, kind TEXT NOT NULL,
    version INTEGER NOT NULL, type TEXT NOT NULL, hash BLOB NOT NULL, count INTEGER NOT NULL,
    tally TEXT, checksum INTEGER NOT NULL, body BLOB NOT NULL, before BLOB NOT NULL, link BLOB NOT NULL, UNIQUE (shard, seq)
  ) STRICT;
`;

/** REAL: node:sqlite throws for an integer that is not exact, and the row would hide all others. */
const ENTRY = `CAST(epoch AS REAL) AS epoch, entryId, kind, CAST(version AS REAL) AS version,
  type, hash, CAST(count AS REAL) AS count, tally, CAST(checksum AS REAL) AS checksum, body`;

interface ShardRow extends HeadRow {
  number: number;
  shard: number;
  link: Uint8Array;
}

interface EntryRow extends HeadRow {
  epoch: number;
  entryId: string;
  kind: string;
  tally: string | null;
  checksum: number;
  body: Uint8Array<ArrayBuffer>;
}

interface LinkedRow extends EntryRow {
  before: Uint8Array;
  link: Uint8Array;
}

/** Entries, heads and tallies in one file, so that one commit holds all three; synchronously. */
export class LogTables {
  readonly #database: Database;
  readonly #usage: UsageTables;

  constructor(database: Database, usage: UsageTables) {
    this.#database = database;
    this.#usage = usage;
  }

  append(entry: LogEntry): 'committed' | 'conflict' {
    const { shard, seq, epoch, entryId, kind, head, body } = entry;
    const before = this.#row(shard);
    const newest = before === undefined ? 0 : headOf(before).seq;
    if (seq <= newest) return 'conflict';
    if (seq > newest + 1) throw new RangeError(`entry ${seq} would leave a gap after ${newest}`);
    const link = linkAfter(before?.link ?? NO_LINK, entry, sha256(body));
    const number = this.#writeHead(shard, head, link, before);
    const tally = entry.tally && JSON.stringify(entry.tally);
    const { version, type, hash, count } = head;
    const checksum = checksumOf({ seq, epoch, entryId, kind, version, type, hash, count, tally });
    this.#database.run(
      `INSERT INTO entries (shard, seq, epoch, entryId, kind, version, type, hash, count, tally, checksum, body, before, link)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      number,
      seq,
      epoch,
      entryId,
      kind,
      version,
      type,
      hash,
      count,
      tally,
      checksum,
      body,
      before?.link ?? NO_LINK,
      link,
    );
    if (entry.tally !== null) this.#usage.tally(shard, entry.tally);
    return 'committed';
  }

  read(shard: ShardKey, afterSeq: number, maxBytes: number): Transferred<LogEntry[]> {
    const number = this.#row(shard)?.number;
    if (number === undefined) return new Transferred([], []);
    const sql = `SELECT seq, ${ENTRY} FROM entries
      WHERE shard = ? AND seq > ? ORDER BY seq`;
    // Whoever replays or verifies the log wants what the disk holds.
    const entries = this.#database.fresh((connection) => {
      const found: LogEntry[] = [];
      let bytes = 0;
      for (const row of connection.prepare(sql).iterate(number, afterSeq)) {
        const entry = entryOf(shard, row as unknown as EntryRow);
        bytes += entry.body.byteLength;
        if (found.length > 0 && bytes > maxBytes) {
          freeBuffers([entry.body.buffer as ArrayBuffer]);
          break;
        }
        found.push(entry);
      }
      return found;
    });
    return new Transferred(
      entries,
      entries.map(({ body }) => body.buffer as ArrayBuffer),
    );
  }

  /** Looks at about `maxBytes` of the entries after `after` through `throughSeq`; gives the first that is not sound, and how far it came, null at the end. */
  auditSlice(
    shard: ShardKey,
    after: LinkedSeq | null,
    throughSeq: number,
    maxBytes: number,
  ): { altered: number | null; after: LinkedSeq | null } {
    const row = this.#row(shard);
    if (row === undefined) return { altered: null, after: null };
    return this.#database.fresh((connection) => {
      // One state of the log: other processes append to it, and trim it.
      if (!connection.isTransaction) connection.exec('BEGIN');
      const { number } = row;
      const first = connection.prepare('SELECT min(seq) AS seq FROM entries WHERE shard = ?').get(number);
      const firstSeq = first?.seq as number | null | undefined;
      if (!firstSeq) return { altered: null, after: null };
      // What came before has been trimmed since.
      const before = after !== null && firstSeq > after.seq + 1 ? null : after;
      const linked = linkedEntries(connection, shard, number, after?.seq ?? 0, throughSeq, maxBytes);
      const altered = firstAltered(linked, before);
      const last = linked.at(-1);
      if (altered !== null) return { altered, after: null };
      if (last !== undefined) return { altered: null, after: { seq: last.entry.seq, link: last.link } };
      const newest = connection.prepare('SELECT seq, link FROM shards WHERE number = ?').get(number);
      const { seq, link } = newest as unknown as LinkedSeq;
      const isEnd = before !== null && throughSeq >= seq;
      const isCut = isEnd && (before.seq < seq || !isSameLink(link, before.link));
      return { altered: isCut ? Math.min(before.seq + 1, seq) : null, after: null };
    });
  }

  head(shard: ShardKey): ShardHead | null {
    const row = this.#row(shard);
    return row === undefined ? null : headOf(row);
  }

  heads(collectionId: string): Map<number, ShardHead> {
    const rows = this.#database.all<ShardRow>('SELECT * FROM shards WHERE collection = ? ORDER BY shard', collectionId);
    return new Map(rows.map((row) => [row.shard, headOf(row)]));
  }

  /** Removes up to `limit` of the entries up to and including `throughSeq`; how many it removed. */
  trimSlice(shard: ShardKey, throughSeq: number, limit: number): number {
    const number = this.#row(shard)?.number;
    return number === undefined ? 0 : this.#removeEntries(number, throughSeq, limit);
  }

  firstSeq(shard: ShardKey): number | null {
    const number = this.#row(shard)?.number;
    if (number === undefined) return null;
    return this.#database.get<{ seq: number | null }>('SELECT min(seq) AS seq FROM entries WHERE shard = ?', number)!
      .seq;
  }

  /** Removes up to `limit` entries of a collection, and shards when they have none left; whether nothing is left. */
  dropSlice(collectionId: string, limit: number): boolean {
    for (const { number } of this.#database.all<ShardRow>('SELECT * FROM shards WHERE collection = ?', collectionId)) {
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

  #row(shard: ShardKey): ShardRow | undefined {
    const { collectionId, index } = parseShardKey(shard);
    const sql = 'SELECT * FROM shards WHERE collection = ? AND shard = ?';
    return this.#database.get<ShardRow>(sql, collectionId, index);
  }

  /** The shard's number. */
  #writeHead(shard: ShardKey, head: ShardHead, link: Uint8Array, before: ShardRow | undefined): number {
    const { seq, version, type, hash, count } = head;
    if (before !== undefined) {
      const sql = 'UPDATE shards SET seq = ?, version = ?, type = ?, hash = ?, count = ?, link = ? WHERE number = ?';
      this.#database.run(sql, seq, version, type, hash, count, link, before.number);
      return before.number;
    }
    const { collectionId, index } = parseShardKey(shard);
    const sql = `INSERT INTO shards (collection, shard, seq, version, type, hash, count, link)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`;
    const values = [collectionId, index, seq, version, type, hash, count, link];
    return this.#database.get<{ number: number }>(sql, ...values)!.number;
  }
}

function linkedEntries(
  connection: DatabaseSync,
  shard: ShardKey,
  number: number,
  afterSeq: number,
  throughSeq: number,
  maxBytes: number,
): LinkedEntry[] {
  const sql = `SELECT seq, before, link, ${ENTRY} FROM entries WHERE shard = ? AND seq > ? AND seq <= ? ORDER BY seq`;
  const linked: LinkedEntry[] = [];
  let bytes = 0;
  for (const row of connection.prepare(sql).iterate(number, afterSeq, throughSeq)) {
    const { before, link, ...rest } = row as unknown as LinkedRow;
    linked.push({ entry: entryOf(shard, rest), bodyHash: sha256(rest.body), before, link });
    bytes += rest.body.byteLength;
    if (bytes > maxBytes) break;
  }
  return linked;
}

const sha256 = (bytes: Uint8Array): Buffer => hashOf('sha256', bytes, 'buffer');

/** An entry of kind 'damaged' when the row is none. */
function entryOf(shard: ShardKey, row: EntryRow): LogEntry {
  const { seq, epoch, entryId, kind, tally, body } = row;
  try {
    if (row.checksum === checksumOf(row)) {
      return {
        shard,
        seq,
        epoch,
        entryId,
        kind: kind as LogEntry['kind'],
        head: headOf(row),
        tally: tally === null ? null : decodeRow<Tally>(tally, 'A tally'),
        body,
      };
    }
  } catch {
    // Said below.
  }
  return damagedEntry(shard, seq);
}

function checksumOf(row: Omit<EntryRow, 'checksum' | 'body'>): number {
  const { seq, epoch, entryId, kind, version, type, hash, count, tally } = row;
  return crc32(
    JSON.stringify([seq, epoch, entryId, kind, version, type, Buffer.from(hash).toString('hex'), count, tally]),
  );
}
