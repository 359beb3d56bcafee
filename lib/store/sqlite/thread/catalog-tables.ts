import type { PlanName } from '../../../plans.ts';
import type { AccountRow, CollectionRow } from '../../catalog.ts';
import type { Database } from './database.ts';
import type { KeyTable } from './key-table.ts';
import type { UsageTables } from './usage-tables.ts';

/** `place` is the order of creation, which breaks ties of `createdAt`. */
export const CATALOG_SCHEMA = `
  CREATE TABLE IF NOT EXISTS collections (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL, name TEXT NOT NULL,
    dimensions INTEGER NOT NULL, metric TEXT NOT NULL, shards INTEGER NOT NULL, replicas INTEGER NOT NULL,
    quantization TEXT NOT NULL, deletionProtection INTEGER NOT NULL, createdAt TEXT NOT NULL,
    dropped INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS live_names ON collections (accountId, name) WHERE NOT dropped;
  CREATE INDEX IF NOT EXISTS dropped_collections ON collections (place) WHERE dropped;
  CREATE TABLE IF NOT EXISTS accounts (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, plan TEXT NOT NULL,
    createdAt TEXT NOT NULL
  ) STRICT;
`;

const COLLECTION =
  'id, accountId, name, dimensions, metric, shards, replicas, quantization, deletionProtection, createdAt';
const ACCOUNT = 'id, name, plan, createdAt';

type Row = Omit<CollectionRow, 'deletionProtection'> & { deletionProtection: number };

/** Collections and accounts, synchronously. */
export class CatalogTables {
  readonly #database: Database;
  readonly #keys: KeyTable;
  readonly #usage: UsageTables;

  constructor(database: Database, keys: KeyTable, usage: UsageTables) {
    this.#database = database;
    this.#keys = keys;
    this.#usage = usage;
  }

  createCollection(row: CollectionRow, maxCollections: number | null): 'created' | 'exists' | 'limit' {
    if (this.findCollection(row.accountId, row.name) !== null) return 'exists';
    if (maxCollections !== null && this.countCollections(row.accountId) >= maxCollections) return 'limit';
    if (this.#database.get('SELECT 1 FROM collections WHERE id = ?', row.id) !== undefined)
      throw new RangeError('the id of a collection is new');
    this.#database.run(
      `INSERT INTO collections (${COLLECTION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      row.id,
      row.accountId,
      row.name,
      row.dimensions,
      row.metric,
      row.shards,
      row.replicas,
      row.quantization,
      row.deletionProtection ? 1 : 0,
      row.createdAt,
    );
    return 'created';
  }

  findCollection(accountId: string, name: string): CollectionRow | null {
    return this.#one('accountId = ? AND name = ? AND NOT dropped', accountId, name);
  }

  getCollection(id: string): CollectionRow | null {
    return this.#one('id = ? AND NOT dropped', id);
  }

  listCollections(accountId: string): CollectionRow[] {
    const sql = `SELECT ${COLLECTION} FROM collections WHERE accountId = ? AND NOT dropped
      ORDER BY createdAt DESC, place DESC`;
    return this.#database.all<Row>(sql, accountId).map(collectionOf);
  }

  countCollections(accountId: string): number {
    const sql = 'SELECT count(*) AS count FROM collections WHERE accountId = ? AND NOT dropped';
    return this.#database.get<{ count: number }>(sql, accountId)?.count ?? 0;
  }

  /** In the order of their ids. */
  collectionsAfter(id: string, limit: number): CollectionRow[] {
    const sql = `SELECT ${COLLECTION} FROM collections WHERE id > ? AND NOT dropped ORDER BY id LIMIT ?`;
    return this.#database.all<Row>(sql, id, limit).map(collectionOf);
  }

  setDeletionProtection(id: string, deletionProtection: boolean): CollectionRow | null {
    const sql = 'UPDATE collections SET deletionProtection = ? WHERE id = ? AND NOT dropped';
    return this.#database.run(sql, deletionProtection ? 1 : 0, id) === 0 ? null : this.getCollection(id);
  }

  dropCollection(id: string, evenProtected = true): boolean {
    const sql = 'UPDATE collections SET dropped = 1 WHERE id = ? AND NOT dropped AND (NOT deletionProtection OR ?)';
    return this.#database.run(sql, id, evenProtected ? 1 : 0) > 0;
  }

  listDropped(): CollectionRow[] {
    const sql = `SELECT ${COLLECTION} FROM collections WHERE dropped ORDER BY place`;
    return this.#database.all<Row>(sql).map(collectionOf);
  }

  forgetDropped(id: string): void {
    this.#database.run('DELETE FROM collections WHERE id = ? AND dropped', id);
  }

  createAccount({ id, name, plan, createdAt }: AccountRow): void {
    if (this.getAccount(id) !== null) throw new RangeError('the id of an account is new');
    this.#database.run(`INSERT INTO accounts (${ACCOUNT}) VALUES (?, ?, ?, ?)`, id, name, plan, createdAt);
  }

  getAccount(id: string): AccountRow | null {
    return this.#database.get<AccountRow>(`SELECT ${ACCOUNT} FROM accounts WHERE id = ?`, id) ?? null;
  }

  listAccounts(): AccountRow[] {
    return this.#database.all<AccountRow>(`SELECT ${ACCOUNT} FROM accounts ORDER BY createdAt, place`);
  }

  setPlan(id: string, plan: PlanName): AccountRow | null {
    this.#database.run('UPDATE accounts SET plan = ? WHERE id = ?', plan, id);
    return this.getAccount(id);
  }

  deleteAccount(id: string): boolean {
    if (this.getAccount(id) === null) return false;
    if (this.countCollections(id) > 0) throw new RangeError('an account to delete owns no collections');
    this.#keys.forget(id);
    this.#usage.forget(id);
    return this.#database.run('DELETE FROM accounts WHERE id = ?', id) > 0;
  }

  #one(condition: string, ...values: string[]): CollectionRow | null {
    const row = this.#database.get<Row>(`SELECT ${COLLECTION} FROM collections WHERE ${condition}`, ...values);
    return row === undefined ? null : collectionOf(row);
  }
}

function collectionOf(row: Row): CollectionRow {
  return { ...row, deletionProtection: row.deletionProtection !== 0 };
}
