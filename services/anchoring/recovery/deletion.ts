import type { AnchorRow } from '../../../lib/store/anchors.ts';
import type { Store } from '../../../lib/store/port.ts';

export const NOT_DELETED = 'The collection is missing from the catalog, but nobody asked to delete it.';

/**
 * Whether a collection that is not in the catalog was deleted: the service says so of it, in the
 * list of the dropped or in its row. A collection that somebody took out of the catalog is not, and
 * no account is closed for it; nor where its row says that nothing was anchored yet, which each
 * row once did. Throws StoreError.
 */
export async function wasDeleted(
  { collectionId }: AnchorRow,
  { catalog, anchors }: Pick<Store, 'catalog' | 'anchors'>,
): Promise<boolean> {
  if ((await catalog.listDropped()).some(({ id }) => id === collectionId)) return true;
  // It may have been forgotten since; its row was told of it before.
  const row = await anchors.get(collectionId);
  return row === null || row.closing;
}
