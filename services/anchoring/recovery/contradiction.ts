import { committedCut } from '../../../lib/shard/cut.ts';
import { isInvalidHead } from '../../../lib/shard/head.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { Store } from '../../../store/port.ts';
import type { AnchoringOptions } from '../context.ts';
import { unsoundHeadReason } from './reconciliation.ts';

/** Returns true if the shards' data contradicts what was recorded of it. */
export async function hasContradiction(
  { contradictions, log }: Store,
  collection: CollectionRow,
  headsAt: AnchoringOptions['headsAt'],
): Promise<boolean> {
  if ((await contradictions.list(collection.id)).length > 0) return true;
  const cut = await committedCut(log, collection);
  return (
    unsoundHeadReason(cut) !== null ||
    (await headsAt(collection, cut)).some((head) => head !== null && isInvalidHead(head))
  );
}
