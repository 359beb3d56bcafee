import { isLastManageKey, type KeyRow, type Scope } from '../../keys.ts';
import type { Sealed } from '../../sealed.ts';
import { decodeList } from '../row-codec.ts';
import type { Database } from './database.ts';

export const KEYS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, accountId TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL,
    scopes TEXT NOT NULL, createdAt TEXT NOT NULL, expiresAt TEXT, lastUsedAt TEXT, seal TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS keys_of_account ON keys (accountId, createdAt DESC, id DESC);
`;

type Row = Omit<Sealed<KeyRow>, 'scopes'> & { scopes: string };

/** API keys, synchronously. */
export class KeyTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  create(row: Sealed<KeyRow>, maxKeys: number | null): 'created' | 'limit' {
    if (maxKeys !== null && this.count(row.accountId) >= maxKeys) return 'limit';
    const { id, accountId, name, hash, prefix, scopes, createdAt, expiresAt, lastUsedAt, seal } = row;
    const taken = this.#database.get('SELECT 1 FROM keys WHERE id = ? OR hash = ?', id, hash);
    if (taken !== undefined) throw new RangeError('the id and the hash of a key are new');
    const sql = 'INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
    const text = JSON.stringify(scopes);
    this.#database.run(sql, id, accountId, name, hash, prefix, text, createdAt, expiresAt, lastUsedAt, seal);
    return 'created';
  }

  findByHash(hash: string): Sealed<KeyRow> | null {
    const row = this.#database.get<Row>('SELECT * FROM keys WHERE hash = ?', hash);
    return row === undefined ? null : keyOf(row);
  }

  list(accountId: string): Sealed<KeyRow>[] {
    const sql = 'SELECT * FROM keys WHERE accountId = ? ORDER BY createdAt DESC, id DESC';
    return this.#database.all<Row>(sql, accountId).map(keyOf);
  }

  count(accountId: string): number {
    const sql = 'SELECT count(*) AS count FROM keys WHERE accountId = ?';
    return this.#database.get<{ count: number }>(sql, accountId)?.count ?? 0;
  }

  revoke(accountId: string, id: string, nowIso: string): 'revoked' | 'absent' | 'last' {
    const all = this.list(accountId);
    const row = all.find((candidate) => candidate.id === id);
    if (row === undefined) return 'absent';
    if (isLastManageKey(row, all, Date.parse(nowIso))) return 'last';
    this.#database.run('DELETE FROM keys WHERE id = ?', id);
    return 'revoked';
  }

  touch(id: string, lastUsedAt: string): void {
    const sql = 'UPDATE keys SET lastUsedAt = ?1 WHERE id = ?2 AND (lastUsedAt IS NULL OR lastUsedAt < ?1)';
    this.#database.run(sql, lastUsedAt, id);
  }

  /** Removes all keys of an account. */
  forget(accountId: string): void {
    this.#database.run('DELETE FROM keys WHERE accountId = ?', accountId);
  }
}

function keyOf(row: Row): Sealed<KeyRow> {
  return { ...row, scopes: decodeList<Scope>(row.scopes, 'An API key') };
}
