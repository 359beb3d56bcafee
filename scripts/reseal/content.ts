import { type Cut, EMPTY_HEAD, isInvalidHead, isSameState, type ShardHead } from '../../lib/shard/head.ts';
import { shardKey } from '../../lib/shard/key.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import { shardSpec } from '../../lib/shard/spec.ts';
import { contiguousEntries } from '../../services/shards/shard/contiguous-entries.ts';
import { runThrough } from '../../services/shards/steps.ts';
import { RecomputeSession } from '../../services/shards/worker/recompute-session.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { StoreToReseal } from '../../store/resealing.ts';

/** The state of one shard, recomputed from its stored bytes by hashing every leaf again. */
interface ShardContent {
  /** The head that the log records. */
  recorded: ShardHead;
  /** The head at the requested cut; null when the stored bytes begin after it or end before it. */
  atCut: ShardHead | null;
  /** Why the stored bytes contradict the recorded head, as a sentence; null when they match. */
  contradiction: string | null;
}

/** The state of a collection, recomputed from its stored bytes. */
export interface StoredContent {
  recorded: Cut;
  /** Heads of the shards at the requested cut. */
  atCut: (ShardHead | null)[];
  contradiction: string | null;
}

export type Stored = Pick<StoreToReseal, 'log' | 'records'>;

/** Recomputes a whole collection. `cut`: one head per shard, or null. Throws StoreError. */
export async function contentOf(store: Stored, collection: CollectionRow, cut: Cut | null): Promise<StoredContent> {
  const heads = await store.log.heads(collection.id);
  const shards: ShardContent[] = [];
  for (let index = 0; index < collection.shards; index++) {
    const head = heads.get(index) ?? EMPTY_HEAD;
    shards.push(await shardContent(store, shardSpec(collection, index), head, cut?.[index] ?? null));
  }
  return {
    recorded: shards.map(({ recorded }) => recorded),
    atCut: shards.map(({ atCut }) => atCut),
    contradiction: shards.find(({ contradiction }) => contradiction !== null)?.contradiction ?? null,
  };
}

/** Only one shard's map of leaves is in memory at a time, without the records. */
async function shardContent(
  { log, records }: Stored,
  spec: ShardSpec,
  recorded: ShardHead,
  cut: ShardHead | null,
): Promise<ShardContent> {
  const key = shardKey(spec.collectionId, spec.index);
  const session = new RecomputeSession(spec);
  const scan = await records.scan(key);
  let isOfOtherLength = false;
  for await (const batch of scan.batches) {
    isOfOtherLength ||= batch.some(({ vector }) => vector.length !== spec.dimensions);
    runThrough(session.addRecords(batch));
  }
  session.addSkipped(scan);
  let at = scan.throughSeq;
  const headAtCut = (): ShardHead | null => (cut?.seq === at ? session.head(cut.seq, cut.version) : null);
  let atCut = headAtCut();
  for await (const entries of contiguousEntries(log, key, at, recorded.seq)) {
    for (const entry of entries) {
      runThrough(session.addEntries([entry]));
      at = entry.seq;
      atCut ??= headAtCut();
    }
  }
  const newest = session.head(at, recorded.version);
  const contradiction = contradictionOf(spec.index, recorded, newest, session.contradicting, isOfOtherLength);
  return { recorded, atCut, contradiction };
}

function contradictionOf(
  index: number,
  recorded: ShardHead,
  newest: ShardHead,
  contradicting: number,
  isOfOtherLength: boolean,
): string | null {
  if (isInvalidHead(recorded)) return `The end of the log of shard ${index} does not decode.`;
  if (newest.seq < recorded.seq)
    return `The log of shard ${index} ends at ${newest.seq}, but its head says ${recorded.seq}.`;
  if (newest.seq > recorded.seq)
    return `The records of shard ${index} are of ${newest.seq}, but its log ends at ${recorded.seq}.`;
  if (contradicting > 0)
    return `The stored bytes of ${contradicting} records or entries of shard ${index} are damaged.`;
  if (isOfOtherLength) return `Shard ${index} has vectors of another length than the collection.`;
  return isSameState(newest, recorded)
    ? null
    : `The stored bytes of shard ${index} do not give the root that its log recorded last.`;
}
