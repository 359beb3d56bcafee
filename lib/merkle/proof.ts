/**
 * Combines shard proofs into a proof for the collection.
 *
 * A path ends at the highest place that is empty or a single leaf; the offline verifier accepts no
 * other shape. That place may be above the requested shard, and its leaf in another shard. So the
 * caller asks `terminalShard` which shard's proof it needs, fetches that proof (for any key: a
 * shard of one record answers each with its leaf) and passes it to `collectionProof`.
 * Throws RangeError if the proof and the nodes do not match, because the shard changed in between;
 * the caller starts over with fresh heads.
 */

import assert from 'node:assert/strict';
import { itemAt } from '../checked-access.ts';
import type { MerkleNode } from '../shard/head.ts';
import { combineAll, siblingsAbove } from './combine.ts';

/** A path from a root down: the siblings along it, and the record where it ends, null if none. */
export interface Path<Terminal> {
  siblings: MerkleNode[];
  terminal: Terminal | null;
}

/**
 * Returns the shard that ends the path to a key of shard `index`: itself, or the one with the
 * single leaf above it.
 */
export function terminalShard(nodes: MerkleNode[], index: number): number {
  assert(index >= 0 && index < nodes.length);
  const width = nodes.length >>> siblingsAbove(nodes, index).length;
  const first = index - (index % width);
  const subtree = nodes.slice(first, first + width);
  if (combineAll(subtree).type !== 'leaf') return index;
  return first + subtree.findIndex((node) => node.type === 'leaf');
}

/** Returns the proof for a key of shard `index`, given that of `terminalShard(nodes, index)`. */
export function collectionProof<Terminal>(
  nodes: MerkleNode[],
  index: number,
  shardProof: Path<Terminal>,
): Path<Terminal> {
  const { type } = itemAt(nodes, terminalShard(nodes, index));
  const fits =
    type === 'inner'
      ? shardProof.siblings.length > 0
      : shardProof.siblings.length === 0 && (shardProof.terminal === null) === (type === 'empty');
  if (!fits) throw new RangeError('the shard proof does not match the nodes');
  return { siblings: [...siblingsAbove(nodes, index), ...shardProof.siblings], terminal: shardProof.terminal };
}
