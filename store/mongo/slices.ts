import type { Collection, Filter } from 'mongodb';
import { lastOf } from '../../lib/checked-access.ts';
import type { Connection } from './connection.ts';
import type { IdRange } from './document-id.ts';

const SLICE_DOCUMENTS = 1_000;

/**
 * Deletes a range of documents in slices, so that no single call takes long. Throws StoreError
 * 'closed' if the store is closed between two slices.
 */
export async function deleteRange<T extends { _id: string }>(
  connection: Connection,
  collection: Collection<T>,
  range: IdRange,
): Promise<void> {
  for (;;) {
    const ids = await idsIn(collection, { _id: range } as Filter<T>, SLICE_DOCUMENTS);
    if (ids.length > 0) await collection.deleteMany({ _id: { $gte: ids[0], $lte: lastOf(ids) } } as Filter<T>);
    if (ids.length < SLICE_DOCUMENTS) return;
    connection.assertOpen();
  }
}

export async function idsIn<T extends { _id: string }>(
  collection: Collection<T>,
  filter: Filter<T>,
  limit: number,
): Promise<string[]> {
  const rows = await collection
    .find(filter)
    .project<{ _id: string }>({ _id: 1 })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();
  return rows.map(({ _id }) => _id);
}

export async function newestIn<T extends { _id: string }>(
  collection: Collection<T>,
  range: IdRange,
  projection?: { [K in keyof T]?: 0 | 1 },
): Promise<T | null> {
  const newest = collection.find({ _id: range } as Filter<T>, { projection }).sort({ _id: -1 });
  return ((await newest.limit(1).toArray()) as T[])[0] ?? null;
}

/**
 * Iterates over the documents that match the filter, in `_id` order, with one query per page and no
 * server-side cursor. `projection` selects fields.
 */
export async function* pagesOf<T extends { _id: string }>(
  connection: Connection,
  collection: Collection<T>,
  filter: Filter<T>,
  pageDocuments: number,
  projection?: { [K in keyof T]?: 1 },
): AsyncIterable<T[]> {
  // Matches only string `_id`s: the database does not compare other types with strings.
  for (let after = ''; ; ) {
    const rest = { $and: [filter, { _id: { $gt: after } }] } as Filter<T>;
    const page: T[] = await connection.run(
      'read',
      `reading ${collection.collectionName}`,
      async () => (await collection.find(rest, { projection }).sort({ _id: 1 }).limit(pageDocuments).toArray()) as T[],
    );
    if (page.length > 0) yield page;
    if (page.length < pageDocuments) return;
    after = lastOf(page)._id;
  }
}
