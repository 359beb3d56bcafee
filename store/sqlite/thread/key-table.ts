import type { AccountId } from '../../../lib/ids.ts';
import { KEYS_MAX } from '../../../lib/plans.ts';
import type { Seals } from '../../../lib/secret/seals.ts';
import { canManage, type KeyRow, type Scope, type StoredKeys, standsInFor } from '../../keys.ts';
import { KnownKeys } from '../../known-keys.ts';
import { type Position, pageOf, positionOf, type RowPage } from '../../page.ts';
import type { Sealed } from '../../sealed.ts';
import { isAuthenticKey } from '../../sealed-keys.ts';
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

export interface KeyTable extends Omit<Sync<StoredKeys>, 'count'> {
  /** Counts up to `limit` keys after `after`; the returned `after` is null at the end. */
  countSlice(accountId: AccountId, after: Position | null, limit: number): { count: number; after: Position | null };
  forget(accountId: AccountId): void;
}

const MANAGING = `SELECT * FROM keys WHERE accountId = ? AND id <> ? AND scopes LIKE '%"manage"%'
  AND (expiresAt IS NULL OR expiresAt > ?)`;

export const keyTable = (database: Database, seals: Seals, known: KnownKeys = new KnownKeys(seals)): KeyTable => ({
  create(row, maxKeys) {
    const stored = 'SELECT count(*) AS count FROM keys WHERE accountId = ?';
    const { count } = database.getOne<{ count: number }>(stored, row.accountId);
    if (count >= KEYS_MAX) return 'limit';
    // Forged rows do not count toward the limit.
    if (maxKeys !== null && count >= maxKeys && countAuthentic(database, seals, row.accountId, maxKeys) >= maxKeys)
      return 'limit';
    const { id, accountId, name, hash, prefix, scopes, createdAt, expiresAt, lastUsedAt, seal } = row;
    const taken = database.get('SELECT 1 FROM keys WHERE id = ? OR hash = ?', id, hash);
    if (taken !== undefined) throw new RangeError('the id or the hash of the key is already taken');
    const sql = 'INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
    const text = JSON.stringify(scopes);
    database.run(sql, id, accountId, name, hash, prefix, text, createdAt, expiresAt, lastUsedAt, seal);
    return 'created';
  },

  findByHash(hash) {
    const row = database.getUntyped<KeyColumns>('SELECT * FROM keys WHERE hash = ?', hash);
    return row === undefined ? null : keyOf(row);
  },

  find(accountId, id) {
    const row = database.getUntyped<KeyColumns>('SELECT * FROM keys WHERE id = ? AND accountId = ?', id, accountId);
    return row === undefined ? null : listedKeyOf(row);
  },

  page(accountId, after, limit) {
    const { rows, next } = page(database, accountId, after, limit, '*');
    return { rows: rows.map(listedKeyOf), next };
  },

  countSlice(accountId, after, limit) {
    const { rows, next } = page(database, accountId, after, limit, 'createdAt, id, seal');
    const whole =
      ({ id }: Pick<KeyRow, 'id'>) =>
      () => {
        const row = database.getUntyped<KeyColumns>('SELECT * FROM keys WHERE id = ?', id);
        return row === undefined ? null : listedKeyOf(row);
      };
    return { count: rows.filter((row) => known.counts(accountId, row, whole(row))).length, after: next };
  },

  revoke(accountId, id, nowIso) {
    const row = this.find(accountId, id);
    if (row === null) return 'absent';
    if (isAuthenticKey(accountId, row, seals) && canManage(row, nowIso)) {
      const other = database.find<KeyColumns>(MANAGING, [accountId, id, nowIso], (columns) => {
        const key = listedKeyOf(columns);
        return standsInFor(key, row, nowIso) && isAuthenticKey(accountId, key, seals);
      });
      if (other === undefined) return 'last';
    }
    database.run('DELETE FROM keys WHERE id = ?', id);
    return 'revoked';
  },

  touch(id, lastUsedAt) {
    const sql = 'UPDATE keys SET lastUsedAt = ?1 WHERE id = ?2 AND (lastUsedAt IS NULL OR lastUsedAt < ?1)';
    database.run(sql, lastUsedAt, id);
  },

  forget(accountId) {
    database.run('DELETE FROM keys WHERE accountId = ?', accountId);
  },
});

function page(
  database: Database,
  accountId: AccountId,
  after: Position | null,
  limit: number,
  columns: string,
): RowPage<KeyColumns> {
  const beyond = after === null ? '' : 'AND (createdAt, id) < (?, ?)';
  const sql = `SELECT ${columns} FROM keys WHERE accountId = ? ${beyond} ORDER BY createdAt DESC, id DESC LIMIT ?`;
  const position = after === null ? [] : [after.createdAt, after.id];
  const rows = database.allUntyped<KeyColumns>(sql, accountId, ...position, limit + 1);
  return pageOf(rows, limit, positionOf);
}

/** Counts the valid keys of an account; stops at `max`. */
function countAuthentic(database: Database, seals: Seals, accountId: AccountId, max: number): number {
  let count = 0;
  database.find<KeyColumns>('SELECT * FROM keys WHERE accountId = ?', [accountId], (columns) => {
    if (isAuthenticKey(accountId, listedKeyOf(columns), seals)) count++;
    return count >= max;
  });
  return count;
}

function keyOf(row: KeyColumns): Sealed<KeyRow> {
  // `lastUsedAt` is not sealed.
  const lastUsedAt = typeof row.lastUsedAt === 'string' ? row.lastUsedAt : null;
  return { ...row, lastUsedAt, scopes: decodeList<Scope>(row.scopes, 'An API key') };
}

/**
 * Like `keyOf`, but scopes that do not decode become none, so that the row hides no other. No seal
 * matches it then.
 */
export function listedKeyOf(row: KeyColumns): Sealed<KeyRow> {
  try {
    return keyOf(row);
  } catch {
    return { ...row, scopes: [] };
  }
}
