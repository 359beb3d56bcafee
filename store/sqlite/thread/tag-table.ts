import type { Database } from './database.ts';
import { hasTable } from './schema.ts';

/** Created with the first tags. Until then an older version can open the file. */
export const TAGS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS collection_tags (id TEXT NOT NULL UNIQUE, tags TEXT NOT NULL) STRICT
`;

const hasTags = (database: Database): boolean => hasTable(database, 'collection_tags');

/** Returns the FROM clause for collections with their tags. */
export const collectionsWithTags = (database: Database): string =>
  hasTags(database) ? 'collections LEFT JOIN collection_tags USING (id)' : '(SELECT *, NULL AS tags FROM collections)';

/** Writes a collection's tags; removes them if undefined. */
export function writeTags(database: Database, id: string, tags: string | undefined): void {
  if (tags !== undefined) {
    database.run(TAGS_SCHEMA);
    database.run(
      'INSERT INTO collection_tags VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET tags = excluded.tags',
      id,
      tags,
    );
  } else if (hasTags(database)) database.run('DELETE FROM collection_tags WHERE id = ?', id);
}
