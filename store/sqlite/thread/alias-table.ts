import type { AccountId, CollectionId } from '../../../lib/ids.ts';
import type { AliasRow, StoredAliases } from '../../aliases.ts';
import { pageOf } from '../../page.ts';
import type { Sealed } from '../../sealed.ts';
import type { Database, Sync } from './database.ts';
import { hasTable } from './schema.ts';

/** Created with the first alias: until then an older version can start on the file. */
export const ALIASES_SCHEMA = `
  CREATE TABLE IF NOT EXISTS aliases (
    id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL, alias TEXT NOT NULL, collectionId TEXT NOT NULL,
    createdAt TEXT NOT NULL, seal TEXT NOT NULL, UNIQUE (accountId, alias)
  ) STRICT
`;

const COLUMNS = 'id, accountId, alias, collectionId, createdAt, seal';

export interface AliasTable extends Sync<StoredAliases> {
  /** Returns whether the collection has an alias whose seal is not in `besides`. */
  existsFor(accountId: AccountId, collectionId: CollectionId, besides: readonly string[]): boolean;
  forget(accountId: AccountId): void;
}

export const hasAliases = (database: Database): boolean => hasTable(database, 'aliases');

export function aliasTable(database: Database): AliasTable {
  const those = (condition: string, ...values: (string | number)[]): Sealed<AliasRow>[] =>
    hasAliases(database)
      ? database
          .allUntyped<Sealed<AliasRow>>(`SELECT ${COLUMNS} FROM aliases WHERE ${condition}`, ...values)
          .map(aliasOf)
      : [];
  const isCollection = (accountId: AccountId, name: string): boolean =>
    database.get('SELECT 1 FROM collections WHERE accountId = ? AND name = ? AND NOT dropped', accountId, name) !==
    undefined;
  const isLive = (id: string): boolean =>
    database.get('SELECT 1 FROM collections WHERE id = ? AND NOT dropped', id) !== undefined;
  const count = (accountId: AccountId): number =>
    hasAliases(database)
      ? database.getOne<{ count: number }>('SELECT count(*) AS count FROM aliases WHERE accountId = ?', accountId).count
      : 0;
  return {
    insert({ id, accountId, alias, collectionId, createdAt, seal }, maxAliases) {
      if (this.find(accountId, alias) !== null) return 'alias';
      if (isCollection(accountId, alias)) return 'collection';
      if (count(accountId) >= maxAliases) return 'limit';
      if (!isLive(collectionId)) return 'no target';
      database.run(ALIASES_SCHEMA);
      const sql = `INSERT INTO aliases (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`;
      database.run(sql, id, accountId, alias, collectionId, createdAt, seal);
      return 'created';
    },

    find(accountId, alias) {
      return those('accountId = ? AND alias = ?', accountId, alias)[0] ?? null;
    },

    page(accountId, after, limit, collectionId) {
      const target = collectionId === undefined ? [] : [collectionId];
      const condition = `accountId = ? AND alias > ? ${target.length > 0 ? 'AND collectionId = ?' : ''}`;
      const rows = those(`${condition} ORDER BY alias LIMIT ?`, accountId, after ?? '', ...target, limit + 1);
      return pageOf(rows, limit, ({ alias }) => alias);
    },

    replace({ accountId, alias, collectionId, seal }, before) {
      if (this.find(accountId, alias)?.seal !== before.seal) return 'changed';
      if (!isLive(collectionId)) return 'no target';
      const sql = 'UPDATE aliases SET collectionId = ?, seal = ? WHERE accountId = ? AND alias = ?';
      database.run(sql, collectionId, seal, accountId, alias);
      return 'replaced';
    },

    remove(accountId, alias, seal) {
      if (!hasAliases(database)) return false;
      if (this.find(accountId, alias)?.seal !== seal) return false;
      return database.run('DELETE FROM aliases WHERE accountId = ? AND alias = ?', accountId, alias) > 0;
    },

    existsFor(accountId, collectionId, besides) {
      const standing = those('accountId = ? AND collectionId = ?', accountId, collectionId);
      return standing.some(({ seal }) => !besides.includes(seal));
    },

    forget(accountId) {
      if (hasAliases(database)) database.run('DELETE FROM aliases WHERE accountId = ?', accountId);
    },
  };
}

/** Replaces a seal that is not a string with ''. */
function aliasOf(row: Sealed<AliasRow>): Sealed<AliasRow> {
  return typeof row.seal === 'string' ? row : { ...row, seal: '' };
}
