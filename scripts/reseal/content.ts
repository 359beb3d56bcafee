import { type Cut, EMPTY_HEAD, isSameState, isUnsound, type ShardHead } from '../../lib/shard/head.ts';
import { shardKey } from '../../lib/shard/key.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import { shardSpec } from '../../lib/shard/spec.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { StoreToReseal } from '../../lib/store/resealing.ts';
import { runThrough } from '../../services/shards/engine/steps.ts';
import { logRuns } from '../../services/shards/shard/log-run.ts';
import { RecomputeSession } from '../../services/shards/worker/recompute-session.ts';

/** What the stored bytes of one shard amount to, every leaf hashed again. */
interface ShardContent {
  /** What the log says of its end. */
  recorded: ShardHead;
  /** At the cut that was asked for; null where the stored bytes begin after it, or end before. */
  atCut: ShardHead | null;
  /**
   * What stands against the stored bytes, as a sentence; null where they give what the log recorded
   * last.
   */
  contradiction: string | null;
}

/** What a collection's stored bytes amount to. */
export interface Content {
  recorded: Cut;
  /** The shards at the cut that was asked for. */
  atCut: (ShardHead | null)[];
  contradiction: string | null;
}

/** What content is read from. */
export type Stored = Pick<StoreToReseal, 'log' | 'records'>;

/** Reads all of a collection. `cut` is of as many shards as it has, or null. Throws StoreError. */
export async function contentOf(store: Stored, collection: CollectionRow, cut: Cut | null): Promise<Content> {
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

/** One shard at a time is in memory: its map of leaves, without its records. */
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
  session.addLeftOut(scan);
  let at = scan.throughSeq;
  const headAtCut = (): ShardHead | null => (cut?.seq === at ? session.head(cut.seq, cut.version) : null);
  let atCut = headAtCut();
  for await (const entries of logRuns(log, key, at, recorded.seq)) {
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
  if (isUnsound(recorded)) return `The end of the log of shard ${index} does not decode.`;
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
