/**
 * A usearch HNSW graph over slots, and the *tail* of slots that are not in it.
 *
 * Slots whose vectors the index cannot tell apart share a node. With a node each, many copies would
 * link only to each other and hide their neighbours. Every node has a key, which is never reused;
 * `NodeSlots` maps keys to slots. Deleting or moving a record changes only this map. Nodes stay for
 * ever, because usearch rewires the graph in place when it reuses one. A node without slots is
 * stale: searches still pass through it but never return it, until its vector is written again. The
 * owner makes a new graph when too many nodes are stale.
 */
import assert from 'node:assert/strict';
import { Index } from 'usearch';
import { itemAt, uint32At } from '../../../lib/checked-access.ts';
import type { Steps } from '../steps.ts';
import type { IndexSpace, IndexVector, SavedSpace } from './index-space.ts';
import { NodeSlots } from './node-slots.ts';
import { NodeTable } from './node-table.ts';
import type { SlotView } from './slot-view.ts';

const CONNECTIVITY = 16;
const EXPANSION_ADD = 200;
const NOWHERE = 0xffffffff;
/** Flag in `#places`: set for a position in the tail, clear for a key. */
const IN_TAIL = 0x80000000;
/**
 * Measured size of a node without its vector, in bytes, at connectivity 16: key, level, links and
 * entries in usearch's tables.
 */
const NODE_BYTES = 232;
/**
 * Maximum slots per slice that add no node: they join an existing one or do not fit the space. Each
 * takes a few microseconds.
 */
const NODELESS_MAX = 64;

const LOW_HALF = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1;

/** Nodes, nearest first and including stale ones, with their distances in the index. */
export interface FoundNodes {
  nodes: Uint32Array;
  distances: Float32Array;
}

export class Graph {
  readonly space: IndexSpace;
  readonly #index: Index;
  readonly #slotsOf = new NodeSlots();
  readonly #table = new NodeTable();
  /** Number of nodes, including stale ones. */
  nodes = 0;
  liveNodes = 0;
  /** Number of nodes of a loaded graph that duplicate another node's vector. */
  copies = 0;
  /** Key, position in the tail, or NOWHERE, by slot. */
  #places = new Uint32Array(0);
  /** Maximum distance by which rounding moved a vector. */
  error = 0;
  #tail: number[] = [];
  /** Number of slots at the front of the tail that do not fit the space. */
  unfit = 0;
  #drawn = 0;

  constructor(space: IndexSpace) {
    this.space = space;
    this.#index = new Index({
      dimensions: space.dimensions,
      metric: space.metricKind,
      quantization: space.scalarKind,
      connectivity: CONNECTIVITY,
      expansion_add: EXPANSION_ADD,
      expansion_search: 1, // a search considers as many nodes as it should return
      multi: false,
    });
  }

  /** Slots that a search must scan, in any order. */
  get tail(): readonly number[] {
    return this.#tail;
  }

  get bytes(): number {
    const tables = this.#slotsOf.bytes + this.#table.bytes + this.#places.byteLength + this.#tail.length * 8;
    return tables + this.nodes * (this.space.vectorBytes + NODE_BYTES);
  }

  /** Adds a live slot to the tail. */
  insert(slot: number): void {
    assert(!this.#has(slot), 'a slot enters the graph twice');
    assert(this.#tail.length < NOWHERE - IN_TAIL, 'the tail has no place left');
    this.#setPlace(slot, IN_TAIL + this.#tail.length);
    this.#tail.push(slot);
  }

  remove(slot: number): void {
    assert(this.#has(slot), 'a slot leaves a graph that does not have it');
    const place = this.#placeOf(slot);
    if (place < IN_TAIL) {
      this.#places[slot] = NOWHERE;
      if (this.#slotsOf.remove(place, slot)) this.liveNodes--;
      return;
    }
    let hole = place - IN_TAIL;
    assert(this.#tail[hole] === slot, 'a slot is not where the tail should have it');
    if (hole < this.unfit) {
      this.#putTail(hole, itemAt(this.#tail, --this.unfit));
      hole = this.unfit;
    }
    this.#fillHole(hole);
    // Comes last: the slot may have been the one that filled the first hole.
    this.#places[slot] = NOWHERE;
  }

  /** Records that a vector moved from slot `from` to slot `to`. */
  move(from: number, to: number): void {
    assert(this.#has(from), 'a slot moves that the graph does not have');
    assert(!this.#has(to), 'a slot moves to one that the graph has');
    const place = this.#placeOf(from);
    this.#places[from] = NOWHERE;
    this.#setPlace(to, place);
    if (place < IN_TAIL) this.#slotsOf.move(place, from, to);
    else this.#tail[place - IN_TAIL] = to;
  }

  /**
   * Takes slots from the tail until it has added `most` nodes or met NODELESS_MAX slots that need
   * none. Returns false when no slot that fits is left. Blocks for 0.25 to 0.5 ms per node of 384
   * dimensions and thread.
   */
  addSlice(source: Pick<SlotView, 'vector' | 'norm'>, most: number, threads: number): boolean {
    const waiting = this.#tail.length - this.unfit;
    if (waiting === 0) return false;
    const out = this.space.allocate(Math.min(most, waiting));
    let added = 0;
    for (let nodeless = 0; added < most && nodeless < NODELESS_MAX && this.#tail.length > this.unfit; ) {
      const at = this.unfit + this.#draw(this.#tail.length - this.unfit);
      const slot = itemAt(this.#tail, at);
      if (!this.space.put(source.vector(slot), source.norm(slot), out, added)) {
        this.#putTail(at, itemAt(this.#tail, this.unfit));
        this.#putTail(this.unfit++, slot);
        nodeless++;
        continue;
      }
      this.#fillHole(at);
      const key = this.#table.findOrAdd(this.space.identity(out, added), this.nodes + added);
      if (key === this.nodes + added) added++;
      else nodeless++;
      this.#put(key, slot);
    }
    assert(added <= most, 'a slice adds more nodes than it may');
    assert(this.unfit <= this.#tail.length, 'more slots do not fit than wait');
    if (added > 0) this.#addNodes(out.subarray(0, added * this.space.dimensions), added, threads);
    return this.#tail.length > this.unfit;
  }

  /**
   * Returns a pseudo-random number from 0 to `below` - 1 (a linear congruential generator). The
   * order of insertion shapes a graph, and records often arrive sorted: at 100 candidates of
   * 61,666 x 384, recall was 0.9928 newest first and 0.9948 in random order.
   */
  #draw(below: number): number {
    this.#drawn = (Math.imul(this.#drawn, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#drawn / 2 ** 32) * below);
  }

  /** Returns about `count` nodes nearest to `query`, which comes from `space.query`. */
  search(query: IndexVector, count: number): FoundNodes {
    const { keys, distances } = this.#index.search(asGiven(query), Math.min(count, this.nodes), 1);
    // Keys are below 2^31, and reading their low halves is many times cheaper than bigints.
    const halves = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2);
    const nodes = new Uint32Array(keys.length);
    for (let i = 0; i < nodes.length; i++) nodes[i] = uint32At(halves, LOW_HALF + 2 * i);
    return { nodes, distances };
  }

  /** Returns a slot of the node, or -1 if it has none; `nextSlot` returns the others. */
  firstSlot(node: number): number {
    return this.#slotsOf.first(node);
  }

  nextSlot(slot: number): number {
    return this.#slotsOf.next(slot);
  }

  /**
   * Returns the key that a checkpoint stores for the slot: its node's key if the slot is the node's
   * first, else -1. `joinCopies` finds the node of the other slots.
   */
  keyOf(slot: number): number {
    const place = this.#placeOf(slot);
    return place < IN_TAIL && this.#slotsOf.first(place) === slot ? place : -1;
  }

  /** Description of the graph for a checkpoint. */
  get saved(): { nodes: number } & SavedSpace {
    const { fit, metricKind, isOutdated } = this.space;
    return { nodes: this.nodes, fit, ...(!isOutdated && { metric: metricKind }) };
  }

  save(file: string): void {
    this.#index.save(file);
  }

  /**
   * Reads a file that `save` wrote into this new graph, as `nodes` stale nodes. Throws if the file
   * holds another graph. May end the process if the file is damaged, since native code does not
   * check it.
   */
  load(file: string, nodes: number): void {
    this.#index.load(file);
    if (this.#index.size() !== nodes || this.#index.dimensions() !== this.space.dimensions) {
      throw new Error('The graph file does not belong to this checkpoint.');
    }
    this.nodes = nodes;
  }

  /**
   * Attaches a slot to its node after `load`. If another node has the same vector, as in graphs of
   * versions without shared nodes, the slot goes to the tail.
   */
  attach(key: number, slot: number, vector: Float32Array, norm: number): void {
    assert(!this.#has(slot), 'a slot is attached twice');
    if (key >= this.nodes || this.#slotsOf.first(key) >= 0) throw new Error('A checkpoint names a key wrongly.');
    const out = this.space.allocate(1);
    if (!this.space.put(vector, norm, out, 0)) throw new Error('A checkpoint has a node that does not fit its index.');
    if (this.#table.findOrAdd(this.space.identity(out, 0), key) === key) {
      this.#put(key, slot);
    } else {
      this.copies++;
      this.insert(slot);
    }
  }

  /** Moves slots from the tail to the nodes they share, after all others were attached. */
  *joinCopies(source: Pick<SlotView, 'vector' | 'norm'>): Steps<void> {
    const out = this.space.allocate(1);
    for (const slot of [...this.#tail]) {
      yield 'sending';
      if (!this.space.put(source.vector(slot), source.norm(slot), out, 0)) continue;
      const key = this.#table.find(this.space.identity(out, 0));
      if (key < 0) continue;
      this.remove(slot);
      this.#put(key, slot);
    }
  }

  #addNodes(vectors: IndexVector, count: number, threads: number): void {
    const keys = BigUint64Array.from({ length: count }, (_, i) => BigInt(this.nodes + i));
    this.#index.add(keys, asGiven(vectors), threads);
    this.nodes += count;
  }

  /** Adds a slot to a node. */
  #put(key: number, slot: number): void {
    if (this.#slotsOf.add(key, slot)) this.liveNodes++;
    this.error = Math.max(this.error, this.space.error);
    this.#setPlace(slot, key);
  }

  #has(slot: number): boolean {
    return this.#placeOf(slot) !== NOWHERE;
  }

  #placeOf(slot: number): number {
    return this.#places[slot] ?? NOWHERE;
  }

  /** Moves the last slot of the tail to `hole`, which may itself be the last position. */
  #fillHole(hole: number): void {
    const last = this.#tail.pop();
    if (last !== undefined && hole < this.#tail.length) this.#putTail(hole, last);
  }

  #putTail(position: number, slot: number): void {
    this.#tail[position] = slot;
    this.#places[slot] = IN_TAIL + position;
  }

  #setPlace(slot: number, place: number): void {
    if (slot >= this.#places.length) {
      const places = new Uint32Array(Math.max(slot + 1, 64, Math.ceil(this.#places.length * 1.5))).fill(NOWHERE);
      places.set(this.#places);
      this.#places = places;
    }
    this.#places[slot] = place;
  }
}

/**
 * Returns the vectors as an argument for usearch. Its JavaScript converts arrays to floats unless
 * `constructor` is Float32Array, and its native code would then rescale the floats to i8. The
 * native code itself reads the true type.
 */
function asGiven(vectors: IndexVector): IndexVector {
  return Object.defineProperty(vectors, 'constructor', { value: Float32Array });
}
