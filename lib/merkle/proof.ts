/**
 * Joins what shards prove into a proof for their collection.
 *
 * Promises the one canonical shape that the offline verifier takes: a path ends at the highest
 * place where nothing or a lone leaf stands. That place may lie above the queried shard, and the
 * lone leaf there may belong to another shard. So a caller first asks `terminalShard` whose proof
 * it needs, then fetches that shard's proof (of any key: a shard of one record answers each with
 * its leaf) and hands it to `collectionProof`.
 *
 * Fails with RangeError when the proof cannot belong to these nodes, as when the shard was written
 * to in between; the caller then starts over with fresh heads.
 */
import assert from 'node:assert/strict';
import type { MerkleNode } from '../shard/head.ts';
import { combineAll, siblingsAbove } from './combine.ts';

/**
 * A path from some root down: the siblings on its way, and what stands where it ends (null:
 * nothing).
 */
export interface Path<Terminal> {
  siblings: MerkleNode[];
  terminal: Terminal | null;
}

/**
 * The shard whose proof ends the path to a key of shard `index`: itself, or the one that holds the
 * lone leaf met above it.
 */
export function terminalShard(nodes: MerkleNode[], index: number): number {
  assert(index >= 0 && index < nodes.length);
  const width = nodes.length >>> siblingsAbove(nodes, index).length;
  const first = index - (index % width);
  const subtree = nodes.slice(first, first + width);
  if (combineAll(subtree).type !== 'leaf') return index;
  return first + subtree.findIndex((node) => node.type === 'leaf');
}

/**
 * The proof for a key of shard `index` in the whole collection, given the proof of shard
 * `terminalShard(nodes, index)`.
 */
export function collectionProof<Terminal>(
  nodes: MerkleNode[],
  index: number,
  shardProof: Path<Terminal>,
): Path<Terminal> {
  const { type } = nodes[terminalShard(nodes, index)];
  const fits =
    type === 'inner'
      ? shardProof.siblings.length > 0
      : shardProof.siblings.length === 0 && (shardProof.terminal === null) === (type === 'empty');
  if (!fits) throw new RangeError('the shard proof belongs to other nodes');
  return { siblings: [...siblingsAbove(nodes, index), ...shardProof.siblings], terminal: shardProof.terminal };
}
