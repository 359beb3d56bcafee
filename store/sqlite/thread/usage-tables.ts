import type { AccountId, CollectionId } from '../../../lib/ids.ts';
import { parseShardKey, type ShardKey } from '../../../lib/shard/key.ts';
import { daysBefore } from '../../../lib/time/month.ts';
import type { Tally } from '../../log.ts';
import {
  type AccountWriteHolds,
  KEPT_DAYS,
  type QueriesTaken,
  type QueryBlock,
  type UsageDay,
  type UsageRow,
} from '../../usage.ts';
import { decodeRow } from '../row-codec.ts';
import { damagedValue } from '../store-failure.ts';
import type { Database } from './database.ts';

/** Length of a day, which tells it from a month. */
const DAY_CHARS = 10;

/**
 * The column `month` of `usage_months` holds months and, in rows of their own, days, which earlier
 * versions ignore. `query_batches` is no longer used. It stays, because a file whose tables differ
 * from the schema is refused.
 */
export const USAGE_SCHEMA = `
  CREATE TABLE IF NOT EXISTS usage_months (
    account TEXT NOT NULL, month TEXT NOT NULL, writes INTEGER NOT NULL DEFAULT 0, queries INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, month)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS query_blocks (
    place INTEGER PRIMARY KEY, account TEXT NOT NULL, month TEXT NOT NULL, id TEXT NOT NULL, node TEXT NOT NULL,
    granted INTEGER NOT NULL, UNIQUE (account, month, id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS query_batches (
    account TEXT NOT NULL, month TEXT NOT NULL, counter TEXT NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (account, month, counter)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS stored_vectors (account TEXT PRIMARY KEY, vectors INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS collection_shares (
    collection TEXT PRIMARY KEY, account TEXT NOT NULL, vectors INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS write_holds (account TEXT PRIMARY KEY, revision INTEGER NOT NULL, row TEXT NOT NULL) STRICT;
`;

const NOTHING_HELD: AccountWriteHolds = { revision: 0, holds: [], alone: null, line: [] };

/**
 * Usage of accounts, synchronous. Keeps each collection's share of its account's vectors, to
 * subtract it when the collection is dropped.
 */
export class UsageTables {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  read(accountId: AccountId, month: string): UsageRow {
    const sql = 'SELECT vectors FROM stored_vectors WHERE account = ?';
    const { vectors = 0 } = this.#database.get<{ vectors: number }>(sql, accountId) ?? {};
    return { ...this.#month(accountId, month), vectors };
  }

  readQueries(accountId: AccountId, month: string): QueriesTaken {
    const sql = 'SELECT id, node, granted FROM query_blocks WHERE account = ? AND month = ? ORDER BY place';
    const blocks = this.#database.all<QueryBlock>(sql, accountId, month).map((row) => ({ ...row }));
    return { queries: this.#month(accountId, month).queries, blocks };
  }

  openBlock(
    accountId: AccountId,
    month: string,
    { id, node }: Pick<QueryBlock, 'id' | 'node'>,
    count: number,
    limit: number | null,
  ): number {
    const open = this.#block(accountId, month, id);
    if (open !== undefined) return open.granted;
    const left = limit === null ? count : limit - this.#month(accountId, month).queries;
    const granted = Math.min(count, Math.max(0, left));
    if (granted === 0) return 0;
    this.#addQueries(accountId, month, granted);
    const sql = 'INSERT INTO query_blocks (account, month, id, node, granted) VALUES (?, ?, ?, ?, ?)';
    this.#database.run(sql, accountId, month, id, node, granted);
    return granted;
  }

  readDays(accountId: AccountId, from: string, through: string): UsageDay[] {
    const sql = `SELECT month AS day, writes, queries FROM usage_months
      WHERE account = ? AND month BETWEEN ? AND ? AND length(month) = ${DAY_CHARS} ORDER BY month`;
    return this.#database.all<UsageDay>(sql, accountId, from, through).map((row) => ({ ...row }));
  }

  closeBlock(accountId: AccountId, month: string, id: string, used: number, day?: string): boolean {
    const open = this.#block(accountId, month, id);
    if (open === undefined) return false;
    this.#database.run('DELETE FROM query_blocks WHERE account = ? AND month = ? AND id = ?', accountId, month, id);
    this.#addQueries(accountId, month, -Math.max(0, open.granted - used));
    if (day !== undefined) {
      this.#beginDay(accountId, day);
      this.#addQueries(accountId, day, Math.min(used, open.granted));
    }
    return true;
  }

  readHolds(accountId: AccountId): AccountWriteHolds {
    const row = this.#database.get<{ row: string }>('SELECT row FROM write_holds WHERE account = ?', accountId)?.row;
    if (row === undefined) return NOTHING_HELD;
    const holds = decodeRow<AccountWriteHolds>(row, 'Writes under way');
    const isSound = Number.isSafeInteger(holds.revision) && Array.isArray(holds.holds) && Array.isArray(holds.line);
    if (!isSound) throw damagedValue('Writes under way');
    return holds;
  }

  replaceHolds(accountId: AccountId, next: AccountWriteHolds): boolean {
    const sql = 'SELECT revision FROM write_holds WHERE account = ?';
    const { revision = 0 } = this.#database.get<{ revision: number }>(sql, accountId) ?? {};
    if (!Number.isSafeInteger(revision)) throw damagedValue('Writes under way');
    if (revision !== next.revision - 1) return false;
    const row = JSON.stringify(next);
    this.#database.run('INSERT OR REPLACE INTO write_holds VALUES (?, ?, ?)', accountId, next.revision, row);
    return true;
  }

  /** Subtracts a dropped collection's share from its account; does nothing the second time. */
  subtractShare(collectionId: CollectionId): void {
    const taken = 'DELETE FROM collection_shares WHERE collection = ? RETURNING account, vectors';
    const share = this.#database.get<{ account: AccountId; vectors: number }>(taken, collectionId);
    if (share === undefined) return;
    // The account, with its count, may already be deleted.
    const sql = 'UPDATE stored_vectors SET vectors = vectors - ? WHERE account = ?';
    this.#database.run(sql, share.vectors, share.account);
  }

  /** Adds an entry's tally, in the transaction that appends the entry. */
  tally(shard: ShardKey, { accountId, month, day, writes, vectors }: Tally): void {
    if (writes !== 0) {
      const sql = `INSERT INTO usage_months (account, month, writes) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET writes = writes + excluded.writes`;
      this.#database.run(sql, accountId, month, writes);
      if (day !== undefined) {
        this.#beginDay(accountId, day);
        this.#database.run(sql, accountId, day, writes);
      }
    }
    if (vectors === 0) return;
    const more = 'ON CONFLICT DO UPDATE SET vectors = vectors + excluded.vectors';
    const { collectionId } = parseShardKey(shard);
    this.#database.run(`INSERT INTO stored_vectors VALUES (?, ?) ${more}`, accountId, vectors);
    this.#database.run(`INSERT INTO collection_shares VALUES (?, ?, ?) ${more}`, collectionId, accountId, vectors);
  }

  forget(accountId: AccountId): void {
    for (const table of ['usage_months', 'query_blocks', 'query_batches', 'stored_vectors', 'write_holds'])
      this.#database.run(`DELETE FROM ${table} WHERE account = ?`, accountId);
  }

  /** Removes days that are no longer kept, once when a day begins. */
  #beginDay(accountId: AccountId, day: string): void {
    const begun = 'SELECT 1 FROM usage_months WHERE account = ? AND month = ?';
    if (this.#database.get(begun, accountId, day) !== undefined) return;
    const sql = `DELETE FROM usage_months WHERE account = ? AND month < ? AND length(month) = ${DAY_CHARS}`;
    this.#database.run(sql, accountId, daysBefore(day, KEPT_DAYS));
  }

  #month(accountId: AccountId, month: string): { writes: number; queries: number } {
    const sql = 'SELECT writes, queries FROM usage_months WHERE account = ? AND month = ?';
    return { writes: 0, queries: 0, ...this.#database.get<{ writes: number; queries: number }>(sql, accountId, month) };
  }

  #block(accountId: AccountId, month: string, id: string): { granted: number } | undefined {
    const sql = 'SELECT granted FROM query_blocks WHERE account = ? AND month = ? AND id = ?';
    return this.#database.get<{ granted: number }>(sql, accountId, month, id);
  }

  /** Adds to the account's queries of a month; the sum never falls below 0. */
  #addQueries(accountId: AccountId, month: string, count: number): void {
    const sql = `INSERT INTO usage_months (account, month, queries) VALUES (?1, ?2, max(0, ?3))
      ON CONFLICT DO UPDATE SET queries = max(0, queries + ?3)`;
    this.#database.run(sql, accountId, month, count);
  }
}
