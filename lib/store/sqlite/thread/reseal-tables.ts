import type { Keyring } from '../../../secret/keyring.ts';
import type { ShardHead } from '../../../shard/head.ts';
import { parseShardKey, type ShardKey, shardKey } from '../../../shard/key.ts';
import type { AccountRow, CollectionRow } from '../../catalog.ts';
import type { KeyRow } from '../../keys.ts';
import { type LogFindings, LogResealing, type StoredEntry } from '../../log-resealing.ts';
import { isSameLink } from '../../log-seals.ts';
import type { Sealed } from '../../sealed.ts';
import { headOf } from '../row-codec.ts';
import type { Database } from './database.ts';
import { ENTRY, type EntryRow, entryOf, SHARD, type ShardRow, sha256 } from './log-tables.ts';

/** A row of a page, by its number in the order of the table. */
export type Numbered<Row> = { number: number; row: Row };
/** Values of a row as SQLite has them. */
export type CollectionColumns = Sealed<Omit<CollectionRow, 'deletionProtection'>> & {
  deletionProtection: number;
  dropped: number;
};
export type KeyColumns = Sealed<Omit<KeyRow, 'scopes'>> & { scopes: string };

const TABLES = { account: 'accounts', collection: 'collections', 'API key': 'keys' } as const;
const PAGE_ROWS = 500;

/**
 * Every seal in `log.db`, synchronously. A log is sealed anew in one transaction, with its head.
 * Only in a store that was opened to be sealed anew.
 */
export class ResealTables {
  readonly #database: Database;
  readonly #keyring: Keyring;

  constructor(database: Database, keyring: Keyring) {
    this.#database = database;
    this.#keyring = keyring;
  }

  accountsAfter(number: number): Numbered<Sealed<AccountRow>>[] {
    return this.#page('accounts', 'id, name, plan, createdAt, seal', number);
  }

  collectionsAfter(number: number): Numbered<CollectionColumns>[] {
    const columns = `id, accountId, name, dimensions, metric, shards, replicas, quantization, deletionProtection,
      createdAt, dropped, seal`;
    return this.#page('collections', columns, number);
  }

  keysAfter(number: number): Numbered<KeyColumns>[] {
    return this.#page('keys', '*', number);
  }

  shardsAfter(number: number): Numbered<ShardKey>[] {
    const sql = `SELECT number, collection, shard FROM shards WHERE number > ? ORDER BY number LIMIT ${PAGE_ROWS}`;
    const rows = this.#database.all<{ number: number; collection: string; shard: number }>(sql, number);
    return rows.map((row) => ({ number: row.number, row: shardKey(row.collection, row.shard) }));
  }

  replaceSeal(kind: keyof typeof TABLES, id: string, before: string, seal: string): boolean {
    const sql = `UPDATE ${TABLES[kind]} SET seal = ? WHERE id = ? AND seal = ?`;
    return this.#database.run(sql, seal, id, before) > 0;
  }

  lookAtLog(shard: ShardKey, believes: boolean): LogFindings {
    return this.#log(shard, believes, false);
  }

  resealLog(shard: ShardKey, believes: boolean): LogFindings {
    return this.#log(shard, believes, true);
  }

  #log(shard: ShardKey, believes: boolean, writes: boolean): LogFindings {
    const resealing = new LogResealing(this.#keyring, believes);
    const { collectionId, index } = parseShardKey(shard);
    const row = this.#database.get<ShardRow>(
      `SELECT ${SHARD} FROM shards WHERE collection = ? AND shard = ?`,
      collectionId,
      index,
    );
    if (row === undefined) return resealing.found;
    const { number } = row;
    // Past its head the service never wrote: that is not believed, whatever else is.
    const throughSeq = believes ? row.seq : Number.MAX_SAFE_INTEGER;
    const next = `SELECT ${ENTRY} FROM entries WHERE shard = ? AND seq > ? AND seq <= ? ORDER BY entries.seq LIMIT 1`;
    for (let after = 0; ; ) {
      const entry = this.#database.get<EntryRow>(next, number, after, throughSeq);
      if (entry === undefined) break;
      after = entry.seq;
      const relinked = resealing.entry(storedEntry(shard, entry));
      if (relinked === null || !writes) continue;
      const sql = 'UPDATE entries SET before = ?, link = ? WHERE shard = ? AND seq = ?';
      this.#database.run(sql, relinked.before, relinked.link, number, after);
    }
    const head = resealing.head({ shard, head: headIn(row), link: row.link, seal: row.seal });
    if (head !== null && writes)
      this.#database.run('UPDATE shards SET link = ?, seal = ? WHERE number = ?', head.link, head.seal, number);
    return resealing.found;
  }

  #page<Row>(table: string, columns: string, after: number): Numbered<Row>[] {
    const sql = `SELECT rowid AS number, ${columns} FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ${PAGE_ROWS}`;
    const rows = this.#database.all<Row & { number: number }>(sql, after);
    return rows.map(({ number, ...row }) => ({ number, row: row as Row }));
  }
}

function storedEntry(shard: ShardKey, row: EntryRow): StoredEntry {
  const { seq, body, bodyHash, before, link } = row;
  const isWhole = isSameLink(sha256(body), bodyHash);
  try {
    return { seq, linked: { entry: entryOf(shard, row), bodyHash, before, link }, link, isWhole };
  } catch {
    return { seq, linked: null, link, isWhole };
  }
}

function headIn(row: ShardRow): ShardHead | null {
  try {
    return headOf(row);
  } catch {
    return null;
  }
}
