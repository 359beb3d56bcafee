import pLimit from 'p-limit';
import { type Caller, call } from '../../../contracts/actions/call.ts';
import type { CollectionDetail, CollectionView } from '../../../contracts/actions/collections.ts';
import { planOf } from '../../../contracts/actions/principal.ts';
import { readPlace, readTags } from '../../../contracts/requests/tags.ts';
import { itemAt } from '../../../lib/checked-access.ts';
import { collectionRoot } from '../../../lib/shard/collection-root.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { PlanBook } from '../../../process/plan-book.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { ShardLog } from '../../../store/log.ts';

/** Number of collections whose heads are read at once, each with a round trip to the store. */
const LISTED_AT_ONCE = 16;

const NO_ANCHOR: CollectionDetail['anchor'] = Object.freeze({
  status: 'none',
  version: null,
  merkleRoot: null,
  ledgerTx: null,
  ledgerAddress: null,
  ledgerExplorerUrl: null,
  confirmedAt: null,
});

/** Returns a collection as clients see it, with `vectorCount` records. */
export function collectionView(row: CollectionRow, vectorCount: number): CollectionView {
  const [tags, place] = [readTags(row.tags), readPlace(row.tags)];
  return {
    id: row.id,
    name: row.name,
    dimensions: row.dimensions,
    metric: row.metric,
    vector_count: vectorCount,
    created_at: row.createdAt,
    shards: row.shards,
    replicas: row.replicas,
    quantization: row.quantization,
    deletionProtection: row.deletionProtection,
    ...(tags && { tags }),
    ...(place && { place }),
  };
}

/** Returns the views of `rows` in order, with committed counts. Opens no shard. */
export function collectionViews(log: ShardLog, rows: CollectionRow[]): Promise<CollectionView[]> {
  return pLimit(LISTED_AT_ONCE).map(rows, async (row) => {
    let vectorCount = 0;
    for (const { count } of (await log.heads(row.id)).values()) vectorCount += count;
    return collectionView(row, vectorCount);
  });
}

/** Returns a collection with its root at a cut and the state of its anchor. Opens no shard. */
export async function collectionDetail(
  caller: Caller,
  plans: PlanBook,
  row: CollectionRow,
  cut: Cut,
): Promise<CollectionDetail> {
  const { merkleRoot, version, vectorCount } = collectionRoot(cut);
  const anchored = await plans.isAnchored(await planOf(caller, row.accountId));
  const anchor = anchored ? await anchorOf(caller, row.id, cut) : NO_ANCHOR;
  return { ...collectionView(row, vectorCount), merkleRoot, version, anchor };
}

async function anchorOf(caller: Caller, collectionId: string, cut: Cut): Promise<CollectionDetail['anchor']> {
  const [state, ledger] = await Promise.all([
    call(caller, 'anchoring.state', { collectionId }),
    call(caller, 'anchoring.address', { collectionId }),
  ]);
  const ledgerAddress = ledger?.address ?? null;
  const isWritten = cut.some((head) => head.seq > 0);
  if (!state?.confirmed) {
    const status = state?.halted ? 'halted' : isWritten ? 'pending' : 'none';
    return { ...NO_ANCHOR, status, ledgerAddress };
  }
  const { confirmed, halted } = state;
  const { signature } = confirmed;
  const isConfirmed = cut.every((head, index) => itemAt(confirmed.cut, index).seq >= head.seq);
  return {
    status: halted ? 'halted' : isConfirmed ? 'confirmed' : 'pending',
    version: confirmed.version,
    merkleRoot: confirmed.merkleRoot,
    ledgerTx: signature,
    ledgerAddress,
    ledgerExplorerUrl: await call(caller, 'anchoring.explorerUrl', { signature }),
    confirmedAt: confirmed.confirmedAt,
  };
}
