/**
 * Combines shard proofs into a proof for the collection.
 *
 * A path ends at the highest place that is empty or a single leaf; the offline verifier accepts no
 * other shape. That place may be above the requested shard, and its leaf may belong to another
 * shard. So the caller asks `terminalShard` which shard's proof it needs, fetches that shard's
 * proof (for any key: a shard of one record answers each with its leaf) and passes it to
 * `collectionProof`.
 *
 * Throws RangeError if the proof cannot belong to these nodes, for example because the shard
 * changed in between; the caller then starts over with fresh heads.
 */
import assert from 'node:assert/strict';
import type { MerkleNode } from '../shard/head.ts';
import { combineAll, siblingsAbove } from './combine.ts';

/** A path from a root down: the siblings along it, and the record where it ends, null if none. */
export interface Path<Terminal> {
  siblings: MerkleNode[];
  terminal: Terminal | null;
}

/**
 * Returns the shard whose proof ends the path to a key of shard `index`: that shard, or the one
 * that holds the single leaf above it.
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
 * Returns the proof, in the whole collection, for a key of shard `index`, given the proof of shard
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
