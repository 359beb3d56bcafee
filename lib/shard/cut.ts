import assert from 'node:assert/strict';
import { itemAt } from '../checked-access.ts';
import type { CollectionId } from '../ids.ts';
import { type Cut, EMPTY_HEAD, isSameSubtree, type ShardHead } from './head.ts';

/** Returns the newer head of each shard, which contains both cuts if they share a history. */
export function mergeCuts(left: Cut, right: Cut): Cut {
  assert(left.length === right.length, 'cuts of one collection have as many shards');
  return left.map((head, index) => {
    const other = itemAt(right, index);
    return head.seq >= other.seq ? head : other;
  });
}

/**
 * Whether `outer` contains every write of `inner`. Heads of equal version must be identical;
 * otherwise they belong to different histories.
 */
export function cutContains(outer: Cut, inner: Cut): boolean {
  assert(outer.length === inner.length, 'cuts of one collection have as many shards');
  return outer.every((head, index) => {
    const other = itemAt(inner, index);
    const isSame = head.version === other.version && head.count === other.count && isSameSubtree(head, other);
    return isSame || head.version > other.version;
  });
}

/** Returns the heads in the log, which contain every acknowledged write. Opens no shard. */
export async function committedCut(
  log: { heads(collectionId: CollectionId): Promise<ReadonlyMap<number, ShardHead>> },
  { id, shards }: { id: CollectionId; shards: number },
): Promise<Cut> {
  const heads = await log.heads(id);
  return Array.from({ length: shards }, (_, index) => heads.get(index) ?? EMPTY_HEAD);
}
