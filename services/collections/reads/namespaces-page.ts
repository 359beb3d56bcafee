import type { NamespacesPage } from '../../../contracts/actions/collections.ts';
import { cursorAfter, nameOfCursor } from '../../../contracts/requests/listing-cursor.ts';
import type { Limits } from '../../../lib/limits.ts';
import { shardSpecs } from '../../../lib/shard/spec.ts';
import { type CollectionRead, readOptionsOf } from './collection-reader.ts';

/**
 * Returns one page of the namespaces with records, by name. Each shard counts its records at its
 * own moment. Throws INVALID_ARGUMENT for an invalid cursor.
 */
export async function namespacesPage(
  read: CollectionRead,
  { prefix = '', limit, cursor }: { prefix?: string; limit?: number; cursor?: string },
  limits: Limits,
): Promise<NamespacesPage> {
  const most = limit ?? limits.namespacesPageDefault;
  const asked = {
    prefix,
    after: cursor === undefined ? null : nameOfCursor(cursor),
    // One more than the page, to see whether another page follows.
    limit: most + 1,
  };
  const found = await read.shards.namespaces(read.caller, shardSpecs(read.row), asked, readOptionsOf(read));
  const page = found.slice(0, most).map(([name, vectorCount]) => ({ name, vectorCount }));
  const last = page.at(-1);
  if (last === undefined || found.length <= most) return { namespaces: page };
  return { namespaces: page, nextCursor: cursorAfter(last.name) };
}
