import type { CollectionRow, StoredCatalog } from '../../catalog.ts';
import { pageOf, positionOf } from '../../page.ts';
import type { Sealed } from '../../sealed.ts';
import type { AccountTable } from './account-table.ts';
import type { AliasTable } from './alias-table.ts';
import type { Database, Sync } from './database.ts';
import { collectionsWithTags, writeTags } from './tag-table.ts';

/** `place` is the creation order, which breaks ties of `createdAt`. */
export const COLLECTIONS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS collections (
    place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL, name TEXT NOT NULL,
    dimensions INTEGER NOT NULL, metric TEXT NOT NULL, shards INTEGER NOT NULL, replicas INTEGER NOT NULL,
    quantization TEXT NOT NULL, deletionProtection INTEGER NOT NULL, createdAt TEXT NOT NULL,
    dropped INTEGER NOT NULL DEFAULT 0, seal TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS live_names ON collections (accountId, name) WHERE NOT dropped;
  CREATE INDEX IF NOT EXISTS dropped_collections ON collections (place) WHERE dropped;
`;

/** Greater than every `place`. */
const AFTER_ALL = 2n ** 63n - 1n;
const COLUMNS =
  'id, accountId, name, dimensions, metric, shards, replicas, quantization, deletionProtection, createdAt, seal';

export type CollectionColumns = Omit<Sealed<CollectionRow>, 'deletionProtection' | 'tags'> & {
  deletionProtection: number;
  tags: string | null;
};

export interface CollectionTable extends Omit<Sync<StoredCatalog>, keyof AccountTable | 'allCollections'> {
  /** Returns collections after `id`, in the order of their ids. */
  collectionsAfter(id: string, limit: number): Sealed<CollectionRow>[];
}

export function collectionTable(database: Database, aliases: Pick<AliasTable, 'find' | 'existsFor'>): CollectionTable {
  const those = (condition: string, ...values: (string | number)[]): Sealed<CollectionRow>[] =>
    database
      .allUntyped<CollectionColumns>(
        `SELECT ${COLUMNS}, tags FROM ${collectionsWithTags(database)} WHERE ${condition}`,
        ...values,
      )
      .map(collectionOf);
  return {
    createCollection(row, maxCollections) {
      if (this.findCollection(row.accountId, row.name) !== null) return 'exists';
      if (aliases.find(row.accountId, row.name) !== null) return 'alias';
      if (maxCollections !== null && this.countCollections(row.accountId) >= maxCollections) return 'limit';
      if (database.get('SELECT 1 FROM collections WHERE id = ?', row.id) !== undefined)
        throw new RangeError('the id of the collection is already taken');
      const { id, accountId, name, dimensions, metric, shards, replicas, quantization, createdAt, seal } = row;
      const fixed = [id, accountId, name, dimensions, metric, shards, replicas, quantization];
      const sql = `INSERT INTO collections (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
      database.run(sql, ...fixed, Number(row.deletionProtection), createdAt, seal);
      if (row.tags !== undefined) writeTags(database, id, row.tags);
      return 'created';
    },

    findCollection(accountId, name) {
      return those('accountId = ? AND name = ? AND NOT dropped', accountId, name)[0] ?? null;
    },

    getCollection(id) {
      return those('id = ? AND NOT dropped', id)[0] ?? null;
    },

    collectionsPage(accountId, after, limit) {
      // If the position's row is gone, rows with the same `createdAt` may be returned twice.
      const beyond = `AND (createdAt, place) < (?, ifnull((SELECT place FROM collections WHERE id = ?), ${AFTER_ALL}))`;
      const condition = `accountId = ? AND NOT dropped ${after === null ? '' : beyond}`;
      const position = after === null ? [] : [after.createdAt, after.id];
      // No index covers the order. The subquery sorts by it without reading the other columns of
      // rows that are not on the page.
      const places = `SELECT place FROM collections WHERE ${condition} ORDER BY createdAt DESC, place DESC LIMIT ?`;
      const order = 'ORDER BY createdAt DESC, place DESC';
      const rows = those(`place IN (${places}) ${order}`, accountId, ...position, limit + 1);
      return pageOf(rows, limit, positionOf);
    },

    countCollections(accountId) {
      const sql = 'SELECT count(*) AS count FROM collections WHERE accountId = ? AND NOT dropped';
      return database.getOne<{ count: number }>(sql, accountId).count;
    },

    collectionsAfter(id, limit) {
      return those('id > ? AND NOT dropped ORDER BY id LIMIT ?', id, limit);
    },

    replaceCollection({ id, deletionProtection, seal, tags }, before) {
      const sql = 'UPDATE collections SET deletionProtection = ?, seal = ? WHERE id = ? AND seal = ? AND NOT dropped';
      if (database.run(sql, Number(deletionProtection), seal, id, before) === 0) return false;
      writeTags(database, id, tags);
      return true;
    },

    dropCollection({ id, accountId, seal }, droppedSeal, besides) {
      if (besides !== null && aliases.existsFor(accountId, id, besides)) return false;
      const sql = 'UPDATE collections SET dropped = 1, seal = ? WHERE id = ? AND seal = ? AND NOT dropped';
      return database.run(sql, droppedSeal, id, seal) > 0;
    },

    listDropped() {
      return those('dropped ORDER BY place');
    },

    forgetDropped(id) {
      if (database.run('DELETE FROM collections WHERE id = ? AND dropped', id) > 0) writeTags(database, id, undefined);
    },
  };
}

export function collectionOf({ tags, ...row }: CollectionColumns): Sealed<CollectionRow> {
  return { ...row, deletionProtection: row.deletionProtection !== 0, ...(tags !== null && { tags }) };
}
