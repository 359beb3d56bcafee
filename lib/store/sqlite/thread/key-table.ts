import type { Seals } from '../../../secret/seals.ts';
import { type KeyRow, revocationOf, type Scope, type StoredKeys } from '../../keys.ts';
import type { Sealed } from '../../sealed.ts';
import { believedKeys } from '../../sealed-keys.ts';
import { decodeList } from '../row-codec.ts';
import type { Database, Sync } from './database.ts';

export const KEYS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, accountId TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL,
    scopes TEXT NOT NULL, createdAt TEXT NOT NULL, expiresAt TEXT, lastUsedAt TEXT, seal TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS keys_of_account ON keys (accountId, createdAt DESC, id DESC);
`;

export type KeyColumns = Omit<Sealed<KeyRow>, 'scopes'> & { scopes: string };

export interface KeyTable extends Sync<StoredKeys> {
  /** Removes all keys of an account. */
  forget(accountId: string): void;
}

/** API keys. */
export const keyTable = (database: Database, seals: Seals): KeyTable => ({
  create(row, maxKeys) {
    if (maxKeys !== null && this.count(row.accountId) >= maxKeys) return 'limit';
    const { id, accountId, name, hash, prefix, scopes, createdAt, expiresAt, lastUsedAt, seal } = row;
    const taken = database.get('SELECT 1 FROM keys WHERE id = ? OR hash = ?', id, hash);
    if (taken !== undefined) throw new RangeError('the id and the hash of a key are new');
    const sql = 'INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
    const text = JSON.stringify(scopes);
    database.run(sql, id, accountId, name, hash, prefix, text, createdAt, expiresAt, lastUsedAt, seal);
    return 'created';
  },

  findByHash(hash) {
    const row = database.get<KeyColumns>('SELECT * FROM keys WHERE hash = ?', hash);
    return row === undefined ? null : keyOf(row);
  },

  list(accountId) {
    const sql = 'SELECT * FROM keys WHERE accountId = ? ORDER BY createdAt DESC, id DESC';
    return database.all<KeyColumns>(sql, accountId).map(listedKeyOf);
  },

  count(accountId) {
    return believedKeys(accountId, this.list(accountId), seals).length;
  },

  hasAny(accountId) {
    return database.get('SELECT 1 FROM keys WHERE accountId = ? LIMIT 1', accountId) !== undefined;
  },

  revoke(accountId, id, nowIso) {
    const all = this.list(accountId);
    const outcome = revocationOf(id, all, believedKeys(accountId, all, seals), nowIso);
    if (outcome === 'revoked') database.run('DELETE FROM keys WHERE id = ?', id);
    return outcome;
  },

  touch(id, lastUsedAt) {
    const sql = 'UPDATE keys SET lastUsedAt = ?1 WHERE id = ?2 AND (lastUsedAt IS NULL OR lastUsedAt < ?1)';
    database.run(sql, lastUsedAt, id);
  },

  forget(accountId) {
    database.run('DELETE FROM keys WHERE accountId = ?', accountId);
  },
});

function keyOf(row: KeyColumns): Sealed<KeyRow> {
  return { ...row, scopes: decodeList<Scope>(row.scopes, 'An API key') };
}

/** One whose scopes are no list has none, and no seal that fits: it hides no other. */
export function listedKeyOf(row: KeyColumns): Sealed<KeyRow> {
  try {
    return keyOf(row);
  } catch {
    return { ...row, scopes: [] };
  }
}
