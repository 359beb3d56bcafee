import type { AccountRow, CollectionRow, StoredAccount } from '../../catalog.ts';
import type { Sealed } from '../../sealed.ts';
import type { Database } from './database.ts';
import type { KeyTable } from './key-table.ts';
import type { UsageTables } from './usage-tables.ts';

/** `place` is the order of creation, which breaks ties of `createdAt`. */
export const CATALOG_SCHEMA = `
  CREATE TABLE IF NOT EXISTS collections (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL, name TEXT NOT NULL,
    dimensions INTEGER NOT NULL, metric TEXT NOT NULL, shards INTEGER NOT NULL, replicas INTEGER NOT NULL,
    quantization TEXT NOT NULL, deletionProtection INTEGER NOT NULL, createdAt TEXT NOT NULL,
    dropped INTEGER NOT NULL DEFAULT 0, seal TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS live_names ON collections (accountId, name) WHERE NOT dropped;
  CREATE INDEX IF NOT EXISTS dropped_collections ON collections (place) WHERE dropped;
  CREATE TABLE IF NOT EXISTS accounts (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, plan TEXT NOT NULL,
    createdAt TEXT NOT NULL, seal TEXT NOT NULL
  ) STRICT;
`;

const COLLECTION =
  'id, accountId, name, dimensions, metric, shards, replicas, quantization, deletionProtection, createdAt, seal';
const ACCOUNT = 'id, name, plan, createdAt, seal';

export type CollectionColumns = Omit<Sealed<CollectionRow>, 'deletionProtection'> & { deletionProtection: number };

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

  createCollection(row: Sealed<CollectionRow>, maxCollections: number | null): 'created' | 'exists' | 'limit' {
    if (this.findCollection(row.accountId, row.name) !== null) return 'exists';
    if (maxCollections !== null && this.countCollections(row.accountId) >= maxCollections) return 'limit';
    if (this.#database.get('SELECT 1 FROM collections WHERE id = ?', row.id) !== undefined)
      throw new RangeError('the id of a collection is new');
    this.#database.run(
      `INSERT INTO collections (${COLLECTION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
      row.seal,
    );
    return 'created';
  }

  findCollection(accountId: string, name: string): Sealed<CollectionRow> | null {
    return this.#one('accountId = ? AND name = ? AND NOT dropped', accountId, name);
  }

  getCollection(id: string): Sealed<CollectionRow> | null {
    return this.#one('id = ? AND NOT dropped', id);
  }

  listCollections(accountId: string): Sealed<CollectionRow>[] {
    const sql = `SELECT ${COLLECTION} FROM collections WHERE accountId = ? AND NOT dropped
      ORDER BY createdAt DESC, place DESC`;
    return this.#database.all<CollectionColumns>(sql, accountId).map(collectionOf);
  }

  countCollections(accountId: string): number {
    const sql = 'SELECT count(*) AS count FROM collections WHERE accountId = ? AND NOT dropped';
    return this.#database.get<{ count: number }>(sql, accountId)?.count ?? 0;
  }

  /** In the order of their ids. */
  collectionsAfter(id: string, limit: number): Sealed<CollectionRow>[] {
    const sql = `SELECT ${COLLECTION} FROM collections WHERE id > ? AND NOT dropped ORDER BY id LIMIT ?`;
    return this.#database.all<CollectionColumns>(sql, id, limit).map(collectionOf);
  }

  replaceCollection({ id, deletionProtection, seal }: Sealed<CollectionRow>, before: string): boolean {
    const sql = 'UPDATE collections SET deletionProtection = ?, seal = ? WHERE id = ? AND seal = ? AND NOT dropped';
    return this.#database.run(sql, deletionProtection ? 1 : 0, seal, id, before) > 0;
  }

  dropCollection(id: string, seal: string, droppedSeal: string): boolean {
    const sql = 'UPDATE collections SET dropped = 1, seal = ? WHERE id = ? AND seal = ? AND NOT dropped';
    return this.#database.run(sql, droppedSeal, id, seal) > 0;
  }

  listDropped(): Sealed<CollectionRow>[] {
    const sql = `SELECT ${COLLECTION} FROM collections WHERE dropped ORDER BY place`;
    return this.#database.all<CollectionColumns>(sql).map(collectionOf);
  }

  forgetDropped(id: string): void {
    this.#database.run('DELETE FROM collections WHERE id = ? AND dropped', id);
  }

  createAccount({ id, name, plan, createdAt, seal }: Sealed<AccountRow>): void {
    if (this.getAccount(id) !== null) throw new RangeError('the id of an account is new');
    this.#database.run(`INSERT INTO accounts (${ACCOUNT}) VALUES (?, ?, ?, ?, ?)`, id, name, plan, createdAt, seal);
  }

  getAccount(id: string): StoredAccount | null {
    const row = this.#database.get<Sealed<AccountRow>>(`SELECT ${ACCOUNT} FROM accounts WHERE id = ?`, id);
    return row === undefined ? null : accountOf(row);
  }

  listAccounts(): StoredAccount[] {
    const sql = `SELECT ${ACCOUNT} FROM accounts ORDER BY createdAt, place`;
    return this.#database.all<Sealed<AccountRow>>(sql).map(accountOf);
  }

  replaceAccount({ id, plan, seal }: Sealed<AccountRow>, before: string): boolean {
    return (
      this.#database.run('UPDATE accounts SET plan = ?, seal = ? WHERE id = ? AND seal = ?', plan, seal, id, before) > 0
    );
  }

  /** All at once. */
  deleteAccount(id: string, seal: string): boolean {
    if (this.getAccount(id)?.seal !== seal) return false;
    if (this.countCollections(id) > 0) throw new RangeError('an account to delete owns no collections');
    this.#keys.forget(id);
    this.#usage.forget(id);
    return this.#database.run('DELETE FROM accounts WHERE id = ?', id) > 0;
  }

  #one(condition: string, ...values: string[]): Sealed<CollectionRow> | null {
    const row = this.#database.get<CollectionColumns>(
      `SELECT ${COLLECTION} FROM collections WHERE ${condition}`,
      ...values,
    );
    return row === undefined ? null : collectionOf(row);
  }
}

export function collectionOf(row: CollectionColumns): Sealed<CollectionRow> {
  return { ...row, deletionProtection: row.deletionProtection !== 0 };
}

/** One that is deleted is gone at once. */
function accountOf(row: Sealed<AccountRow>): StoredAccount {
  return { ...row, state: 'live' };
}
