import assert from 'node:assert/strict';
import { itemAt } from '../checked-access.ts';
import type { MerkleNode } from '../shard/head.ts';
import { HASH_BYTES, sha256 } from './sha256.ts';

/** First byte of an inner node's hash input; a leaf's is 0, so neither passes for the other. */
export const INNER_TAG = 1;

/**
 * Returns the parent of two sibling subtrees (format PV1). A leaf whose sibling is empty is
 * promoted: a subtree with one record equals that record's leaf at any depth, which makes the root
 * independent of the number of shards.
 */
export function combine(left: MerkleNode, right: MerkleNode): MerkleNode {
  assert(left.hash.length === HASH_BYTES && right.hash.length === HASH_BYTES);
  if (left.type === 'empty' && right.type !== 'inner') return { type: right.type, hash: right.hash };
  if (right.type === 'empty' && left.type !== 'inner') return { type: left.type, hash: left.hash };
  const input = Buffer.alloc(1 + 2 * HASH_BYTES, INNER_TAG);
  input.set(left.hash, 1);
  input.set(right.hash, 1 + HASH_BYTES);
  return { type: 'inner', hash: sha256(input) };
}

/** Returns the root over `nodes`, the 2^s subtrees of a collection in prefix order. */
export function combineAll(nodes: MerkleNode[]): MerkleNode {
  return itemAt(itemAt(levelsOver(nodes), 0), 0);
}

/**
 * Returns the siblings on the path to subtree `index`, from the collection's root down. The path
 * ends at an empty subtree or a single leaf, possibly above the subtree, so there may be fewer than
 * s siblings (see `collectionProof`).
 */
export function siblingsAbove(nodes: MerkleNode[], index: number): MerkleNode[] {
  const levels = levelsOver(nodes);
  const siblings: MerkleNode[] = [];
  for (let depth = 0; depth < levels.length - 1; depth++) {
    const below = levels.length - 1 - depth;
    if (itemAt(itemAt(levels, depth), index >>> below).type !== 'inner') break;
    siblings.push(itemAt(itemAt(levels, depth + 1), (index >>> (below - 1)) ^ 1));
  }
  return siblings;
}

/** Returns all subtrees by depth: the root alone at 0, `nodes` last. */
function levelsOver(nodes: MerkleNode[]): MerkleNode[][] {
  assert(nodes.length > 0 && (nodes.length & (nodes.length - 1)) === 0, 'a power of two of subtrees');
  const levels = [nodes];
  for (let level = nodes; level.length > 1; levels.unshift(level)) level = parentsOf(level);
  return levels;
}

function parentsOf(level: MerkleNode[]): MerkleNode[] {
  return level.flatMap((left, at) => (at % 2 === 0 ? combine(left, itemAt(level, at + 1)) : []));
}
