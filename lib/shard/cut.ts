import assert from 'node:assert/strict';
import type { CollectionRow } from '../store/catalog.ts';
import type { ShardLog } from '../store/log.ts';
import { type Cut, EMPTY_HEAD, isSameNode } from './head.ts';

/**
 * The newer head of every shard, by seq: a state that contains all that either cut contains, where
 * both are of one history.
 */
export function mergeCuts(left: Cut, right: Cut): Cut {
  assert(left.length === right.length, 'cuts of one collection have as many shards');
  return left.map((head, index) => (head.seq >= right[index].seq ? head : right[index]));
}

/**
 * Whether every write behind `inner` is behind `outer`, too: of another history, with as many
 * writes, none is.
 */
export function contains(outer: Cut, inner: Cut): boolean {
  assert(outer.length === inner.length, 'cuts of one collection have as many shards');
  return outer.every((head, index) => {
    const other = inner[index];
    const isSame = head.version === other.version && head.count === other.count && isSameNode(head, other);
    return isSame || head.version > other.version;
  });
}

/**
 * Heads of all shards of a collection as the log holds them: every acknowledged write is in it, and
 * no shard is opened.
 */
export async function committedCut(
  log: Pick<ShardLog, 'heads'>,
  { id, shards }: Pick<CollectionRow, 'id' | 'shards'>,
): Promise<Cut> {
  const heads = await log.heads(id);
  return Array.from({ length: shards }, (_, index) => heads.get(index) ?? EMPTY_HEAD);
}
