/**
 * A usearch HNSW graph over slots, and the *tail* of slots that are not in it.
 *
 * Slots whose vectors the index cannot tell apart share a node: more copies than a search considers
 * would link to each other alone and hide what lies near them. Every node has a key that is never
 * used again, and `NodeSlots` leads from key to slots. A record that goes away, or moves to another
 * slot, only changes these: usearch itself never removes (its re-use of removed nodes rewires the
 * graph in place and its keys cannot be looked up), so a stale node still leads searches through
 * the graph but is never an answer, unless its vector is written again. The owner makes a new graph
 * when too many nodes are stale.
 */
import { Index } from 'usearch';
import type { IndexSpace, IndexVector, SavedSpace } from './index-space.ts';
import { NodeSlots } from './node-slots.ts';
import { NodeTable } from './node-table.ts';
import type { Slots } from './slots.ts';

const CONNECTIVITY = 16;
const EXPANSION_ADD = 200;
const NOWHERE = 0xffffffff;
/** In `#places`: set for a position in the tail, clear for a key. */
const IN_TAIL = 0x80000000;
/**
 * Of a node beside its vector, with connectivity 16: key, level, links, entries of usearch's
 * tables. Measured.
 */
const NODE_BYTES = 232;
/**
 * Maximum slots per slice that add no node: they join an existing one or do not fit the space. Each
 * takes a few microseconds.
 */
const NODELESS_MAX = 64;

const LOW_HALF = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1;

/** Nodes, nearest first, stale ones among them, and their distances as the index has them. */
export interface FoundNodes {
  nodes: Uint32Array;
  distances: Float32Array;
}

export class Graph {
  readonly space: IndexSpace;
  readonly #index: Index;
  readonly #slotsOf = new NodeSlots();
  readonly #table = new NodeTable();
  /** Nodes ever added, stale ones among them. */
  nodes = 0;
  liveNodes = 0;
  /** Nodes of a loaded graph that have the vector of another one. */
  copies = 0;
  /** Per slot: key, or position in the tail, or NOWHERE. */
  #places = new Uint32Array(0);
  /** How far rounding moved a vector at most. */
  error = 0;
  #tail: number[] = [];
  /** So many, the first of the tail, do not fit into the space and can never be added. */
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
      expansion_search: 1, // a search considers as many nodes as it is asked for
      multi: false,
    });
  }

  /** Slots to be scanned beside a search, in any order. */
  get tail(): readonly number[] {
    return this.#tail;
  }

  get bytes(): number {
    const tables = this.#slotsOf.bytes + this.#table.bytes + this.#places.byteLength + this.#tail.length * 8;
    return tables + this.nodes * (this.space.vectorBytes + NODE_BYTES);
  }

  /** Takes a live slot in: found through the tail from now on. */
  insert(slot: number): void {
    this.#setPlace(slot, IN_TAIL + this.#tail.length);
    this.#tail.push(slot);
  }

  remove(slot: number): void {
    const place = this.#places[slot];
    this.#places[slot] = NOWHERE;
    if (place < IN_TAIL) {
      if (this.#slotsOf.remove(place, slot)) this.liveNodes--;
      return;
    }
    let hole = place - IN_TAIL;
    if (hole < this.unfit) {
      this.#putTail(hole, this.#tail[--this.unfit]);
      hole = this.unfit;
    }
    const last = this.#tail.pop()!;
    if (hole < this.#tail.length) this.#putTail(hole, last);
  }

  /** The vector of `from` now lies in `to`. */
  move(from: number, to: number): void {
    const place = this.#places[from];
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
  addSlice(source: Pick<Slots, 'vector' | 'norm'>, most: number, threads: number): boolean {
    const waiting = this.#tail.length - this.unfit;
    if (waiting === 0) return false;
    const out = this.space.allocate(Math.min(most, waiting));
    let added = 0;
    for (let nodeless = 0; added < most && nodeless < NODELESS_MAX && this.#tail.length > this.unfit; ) {
      const at = this.unfit + this.#draw(this.#tail.length - this.unfit);
      const slot = this.#tail[at];
      if (!this.space.put(source.vector(slot), source.norm(slot), out, added)) {
        this.#putTail(at, this.#tail[this.unfit]);
        this.#putTail(this.unfit++, slot);
        nodeless++;
        continue;
      }
      const last = this.#tail.pop()!;
      if (at < this.#tail.length) this.#putTail(at, last);
      const key = this.#table.findOrAdd(this.space.identity(out, added), this.nodes + added);
      if (key === this.nodes + added) added++;
      else nodeless++;
      this.#put(key, slot);
    }
    if (added > 0) this.#addNodes(out.subarray(0, added * this.space.dimensions), added, threads);
    return this.#tail.length > this.unfit;
  }

  /**
   * A number from 0 to below `below`, as if at random (a linear congruential generator). What comes
   * first shapes a graph, and records often come sorted: the newest first gave a recall of 0.9928
   * at 100 candidates of 61,666 x 384, at random 0.9948.
   */
  #draw(below: number): number {
    this.#drawn = (Math.imul(this.#drawn, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#drawn / 2 ** 32) * below);
  }

  /** The about `count` nodes nearest to `query` (of `space.query`), nearest first. */
  search(query: IndexVector, count: number): FoundNodes {
    const { keys, distances } = this.#index.search(asGiven(query), Math.min(count, this.nodes), 1);
    // Keys are below 2^31: their low halves alone are many times cheaper than bigints.
    const halves = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2);
    const nodes = new Uint32Array(keys.length);
    for (let i = 0; i < nodes.length; i++) nodes[i] = halves[LOW_HALF + 2 * i];
    return { nodes, distances };
  }

  /** A slot behind a node, or -1; `nextSlot` leads to the others. */
  firstSlot(node: number): number {
    return this.#slotsOf.first(node);
  }

  nextSlot(slot: number): number {
    return this.#slotsOf.next(slot);
  }

  /**
   * The key that a checkpoint gives the slot: that of its node if it is the first behind it, else
   * -1, for the next reader finds the node of the others by itself.
   */
  keyOf(slot: number): number {
    const place = this.#places[slot];
    return place < IN_TAIL && this.#slotsOf.first(place) === slot ? place : -1;
  }

  /** What a checkpoint says of the graph. */
  get saved(): { nodes: number } & SavedSpace {
    const { fit, metricKind, isOutdated } = this.space;
    return { nodes: this.nodes, fit, ...(!isOutdated && { metric: metricKind }) };
  }

  save(file: string): void {
    this.#index.save(file);
  }

  /**
   * Reads what `save` wrote into a new graph of `nodes` nodes, all stale. Throws when the file is
   * not such a graph, or ends the process: native code does not check what it reads.
   */
  load(file: string, nodes: number): void {
    this.#index.load(file);
    if (this.#index.size() !== nodes || this.#index.dimensions() !== this.space.dimensions) {
      throw new Error('The graph file does not belong to this checkpoint.');
    }
    this.nodes = nodes;
  }

  /**
   * After `load`: the vector of `key` is that of `slot`. One that another node has, too, goes to
   * the tail, as versions before nodes were shared wrote them.
   */
  attach(key: number, slot: number, vector: Float32Array, norm: number): void {
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

  /** After all were attached: takes those from the tail that share a node. */
  joinCopies(source: Pick<Slots, 'vector' | 'norm'>): void {
    const out = this.space.allocate(1);
    for (const slot of [...this.#tail]) {
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

  /** Puts a slot behind a node. */
  #put(key: number, slot: number): void {
    if (this.#slotsOf.add(key, slot)) this.liveNodes++;
    this.error = Math.max(this.error, this.space.error);
    this.#setPlace(slot, key);
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
 * Returns the vectors as an argument for usearch, whose JavaScript makes floats of what does not
 * say that it is a Float32Array. Native code looks at the true type; floats it would scale to i8
 * anew.
 */
function asGiven(vectors: IndexVector): IndexVector {
  return Object.defineProperty(vectors, 'constructor', { value: Float32Array });
}
