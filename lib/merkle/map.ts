/**
 * The Merkle map of one shard (format PV1), which is also the shard's hash index: full 32-byte key
 * -> (leaf, slot).
 *
 * The root is a pure function of the set of (key, leaf) pairs, regardless of the order of changes.
 * `root()` and `prove()` hash only what changed. Keys of another shard and wrong lengths fail an
 * assertion.
 * See docs/internals/search.md.
 */

import assert from 'node:assert/strict';
import { itemAt } from '../checked-access.ts';
import type { MerkleNode, NodeType } from '../shard/head.ts';
import { CellTable } from './cell-table.ts';
import { INNER_TAG } from './combine.ts';
import type { Path } from './proof.ts';
import { HASH_BYTES, sha256Into } from './sha256.ts';

/** One record of the map. */
export interface MapEntry {
  key: Buffer;
  leaf: Buffer;
  slot: number;
}

const EMPTY = 0;
const LEAF = 1;
const INNER = 2;
/** A node below changed; all ancestors of a dirty node are dirty too. */
const DIRTY = 3;
/** Not computed yet, while its ancestors may be valid. */
const UNBUILT = 4;
const NODE_TYPES: NodeType[] = ['empty', 'leaf', 'inner'];

const SKIP_BITS_MAX = 8;
const DEPTH_MAX = 24;
const BUCKET_RECORDS_MAX = 24;
const BUCKET_RECORDS_MIN = 8;
/** Number of levels that `hashParts` computes in a part. */
const PART_LEVELS = 6;
const ROOT = 1;

/** Scratch: the cells of the bucket being hashed, and an inner node's hash input for each depth. */
const bucket: number[] = [];
const inputs = Array.from({ length: 8 * HASH_BYTES }, () => Buffer.alloc(1 + 2 * HASH_BYTES, INNER_TAG));

export class MerkleMap {
  readonly #skipBits: number;
  readonly #table: CellTable;
  /** The first `#skipBits` bits, which all keys share; null while the map is empty. */
  #shared: number | null = null;
  #depth = 0;
  /** 2^(depth + 1) hashes, then as many types. */
  #nodes = newNodes(0);
  #changes = 0;

  /** All keys share their first `skipBits` bits (0 to 8). */
  constructor({ skipBits }: { skipBits: number }) {
    assert(Number.isInteger(skipBits) && skipBits >= 0 && skipBits <= SKIP_BITS_MAX);
    this.#skipBits = skipBits;
    this.#table = new CellTable(skipBits);
  }

  get size(): number {
    return this.#table.size;
  }

  /** Bytes held in typed arrays. */
  get bytes(): number {
    return this.#table.byteLength + this.#nodes.length;
  }

  /** Returns the record's slot, or -1. */
  find(key: Uint8Array): number {
    const cell = this.#table.find(key);
    return cell < 0 ? -1 : this.#table.slotAt(cell);
  }

  /** Returns a copy of the record's leaf. */
  leafAt(key: Uint8Array): Buffer | null {
    const cell = this.#table.find(key);
    return cell < 0 ? null : this.#table.leafAt(cell);
  }

  /** Adds or replaces a record; returns the slot it had, or -1. */
  set(key: Uint8Array, leaf: Uint8Array, slot: number): number {
    const shared = sharedBits(key, this.#skipBits);
    assert(this.#shared === null || this.#shared === shared, 'the key belongs to another shard');
    const previous = this.#table.set(key, leaf, slot);
    this.#shared = shared;
    this.#touch(key);
    return previous;
  }

  /** Removes a record and releases spare memory; returns the slot it had, or -1. */
  delete(key: Uint8Array): number {
    const slot = this.#table.delete(key);
    if (slot < 0) return -1;
    if (this.size === 0) this.#shared = null;
    this.#touch(key);
    return slot;
  }

  /** Returns the map's root, a subtree at depth `skipBits` of its collection. */
  root(): MerkleNode {
    return this.#node(ROOT, 0);
  }

  /**
   * Computes what `root` needs, and yields after each part of about 1,000 records. Fails an
   * assertion if the map changes meanwhile.
   */
  *hashParts(): Generator<void> {
    const changes = this.#changes;
    const level = Math.max(0, this.#depth - PART_LEVELS);
    for (let node = 2 ** level; node < 2 ** (level + 1); node++) {
      assert(this.#changes === changes, 'the map changed while it was hashed');
      this.#resolve(node, level);
      yield;
    }
  }

  /**
   * Returns the path to a key from this map's root down, and the record where it ends: the key's
   * own, a different one (the only record under that prefix), or none. A map of at most one record
   * also answers keys of other shards.
   */
  prove(key: Uint8Array): Path<MapEntry> {
    assert(key.length === HASH_BYTES);
    const siblings: MerkleNode[] = [];
    let node = ROOT;
    let level = 0;
    while (level < this.#depth && this.#resolve(node, level) === INNER) {
      node = 2 * node + bitOf(key, this.#skipBits + level);
      level++;
      siblings.push(this.#node(node ^ 1, level));
    }
    this.#table.collect(level, node - 2 ** level, bucket);
    let from = 0;
    let to = bucket.length;
    for (let depth = this.#skipBits + level; to - from > 1; depth++) {
      const middle = this.#split(from, to, depth);
      const hash = Buffer.alloc(HASH_BYTES);
      const right = bitOf(key, depth) === 1;
      const type = right
        ? this.#hashCells(from, middle, depth + 1, hash, 0)
        : this.#hashCells(middle, to, depth + 1, hash, 0);
      siblings.push({ type: itemAt(NODE_TYPES, type), hash });
      if (right) from = middle;
      else to = middle;
    }
    assert(
      siblings.length === 0 || sharedBits(key, this.#skipBits) === this.#shared,
      'the key belongs to another shard',
    );
    return { siblings, terminal: from === to ? null : this.#entry(itemAt(bucket, from)) };
  }

  /** Yields all records in key order. Fails an assertion if the map changes meanwhile. */
  *entries(): Generator<MapEntry> {
    const changes = this.#changes;
    for (let cell = 0; cell < this.#table.cells; cell++) {
      if (!this.#table.isOccupied(cell)) continue;
      yield this.#entry(cell);
      assert(this.#changes === changes, 'the map changed while its entries were read');
    }
  }

  #entry(cell: number): MapEntry {
    return { key: this.#table.keyAt(cell), leaf: this.#table.leafAt(cell), slot: this.#table.slotAt(cell) };
  }

  /** Marks the key's bucket and its ancestors dirty, then adapts the number of levels. */
  #touch(key: Uint8Array): void {
    this.#changes++;
    let node = 1;
    for (let level = 0; level < this.#depth; level++) node = 2 * node + bitOf(key, this.#skipBits + level);
    const types = HASH_BYTES * 2 ** (this.#depth + 1);
    for (; node > 0 && this.#nodes[types + node] !== DIRTY; node >>>= 1) this.#nodes[types + node] = DIRTY;
    const buckets = 2 ** this.#depth;
    if (this.size > buckets * BUCKET_RECORDS_MAX && this.#depth < DEPTH_MAX) this.#setDepth(this.#depth + 1);
    else if (this.size < buckets * BUCKET_RECORDS_MIN && this.#depth > 0) this.#setDepth(this.#depth - 1);
  }

  /** Adds or removes the lowest level. Heap order keeps the nodes of the upper levels in place. */
  #setDepth(depth: number): void {
    const before = 2 ** (this.#depth + 1);
    const after = 2 ** (depth + 1);
    const kept = Math.min(before, after);
    const nodes = newNodes(depth);
    this.#nodes.copy(nodes, 0, 0, HASH_BYTES * kept);
    this.#nodes.copy(nodes, HASH_BYTES * after, HASH_BYTES * before, HASH_BYTES * before + kept);
    nodes.fill(UNBUILT, HASH_BYTES * after + kept);
    this.#nodes = nodes;
    this.#depth = depth;
  }

  #node(node: number, level: number): MerkleNode {
    const type = itemAt(NODE_TYPES, this.#resolve(node, level));
    const hash = Buffer.alloc(HASH_BYTES);
    this.#nodes.copy(hash, 0, HASH_BYTES * node, HASH_BYTES * (node + 1));
    return { type, hash };
  }

  /** Computes the node if it is not valid, and returns its type. */
  #resolve(node: number, level: number): number {
    const nodes = this.#nodes;
    const typeAt = HASH_BYTES * 2 ** (this.#depth + 1) + node;
    const known = nodes[typeAt]!;
    if (known <= INNER) return known;
    let type: number;
    if (level === this.#depth) {
      this.#table.collect(level, node - 2 ** level, bucket);
      type = this.#hashCells(0, bucket.length, this.#skipBits + level, nodes, HASH_BYTES * node);
    } else {
      const left = this.#resolve(2 * node, level + 1);
      const right = this.#resolve(2 * node + 1, level + 1);
      const children = HASH_BYTES * 2 * node;
      if (left + right <= LEAF) {
        // At most one record is below: promote its leaf, or stay empty.
        type = left + right;
        const risen = right === LEAF ? children + HASH_BYTES : children;
        nodes.copy(nodes, HASH_BYTES * node, risen, risen + HASH_BYTES);
      } else {
        type = INNER;
        const input = inputs[0]!;
        nodes.copy(input, 1, children, children + 2 * HASH_BYTES);
        sha256Into(nodes, HASH_BYTES * node, input);
      }
    }
    nodes[typeAt] = type;
    return type;
  }

  /** Hashes the subtree of bucket[from, to), whose keys share `depth` bits; returns its type. */
  #hashCells(from: number, to: number, depth: number, target: Buffer, offset: number): number {
    if (from === to) {
      target.fill(0, offset, offset + HASH_BYTES);
      return EMPTY;
    }
    if (to - from === 1) {
      this.#table.copyLeaf(bucket[from]!, target, offset);
      return LEAF;
    }
    const input = inputs[depth]!;
    const middle = this.#split(from, to, depth);
    this.#hashCells(from, middle, depth + 1, input, 1);
    this.#hashCells(middle, to, depth + 1, input, 1 + HASH_BYTES);
    sha256Into(target, offset, input);
    return INNER;
  }

  /** Returns the index in bucket[from, to) of the first key with bit `depth` set. */
  #split(from: number, to: number, depth: number): number {
    let low = from;
    let high = to;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#table.bitAt(bucket[middle]!, depth) === 1) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function newNodes(depth: number): Buffer {
  return Buffer.alloc((HASH_BYTES + 1) * 2 ** (depth + 1));
}

function bitOf(key: Uint8Array, depth: number): number {
  return (key[depth >>> 3]! >>> (7 - (depth & 7))) & 1;
}

function sharedBits(key: Uint8Array, bits: number): number {
  return key[0]! >>> (8 - bits);
}
