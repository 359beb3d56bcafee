import type { AnchorRow } from '../../../store/anchors.ts';
import type { Store } from '../../../store/port.ts';

export const NOT_DELETED = 'The collection is missing from the catalog, but the service did not delete it.';

/**
 * Returns true if the service deleted a collection that is missing from the catalog: the list of
 * dropped collections or the row says so. Otherwise someone removed it from the catalog, and its
 * account must not be closed. A row that claims nothing was anchored may be an old one that was
 * restored. Throws StoreError.
 */
export async function wasDeleted(
  { collectionId }: AnchorRow,
  { catalog, anchors }: Pick<Store, 'catalog' | 'anchors'>,
): Promise<boolean> {
  if ((await catalog.listDropped()).some(({ id }) => id === collectionId)) return true;
  // The dropped entry may have been removed since; the row was marked before that.
  const row = await anchors.get(collectionId);
  return row === null || row.closing;
}
