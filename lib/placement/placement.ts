/**
 * The order in which nodes are preferred as holder of a shard: weighted rendezvous hashing.
 *
 * The order is a pure function of the shard, the nodes and their weights. A node that joins comes
 * first for its share of the shards and does not change the order of the others. When a node
 * leaves, each of its shards moves to the next node in order. The order only says where to look for
 * a holder, or which node to ask to become one; the store decides who holds a shard. It does not
 * resist an attacker who chooses names. See docs/internals/placement.md.
 */

import { hash } from 'node:crypto';
import { itemAt } from '../checked-access.ts';
import type { AccountId, CollectionId } from '../ids.ts';
import type { ShardKey } from '../shard/key.ts';

/** Cached: it is called four times per shard and node, and globals are slow in some contexts. */
const { imul } = Math;

/** Maximum number of shards whose hashes and first nodes are cached. */
const SHARDS_MAX = 1_000_000;

/** Weight of a node that does not report its memory. */
export const DEFAULT_WEIGHT = 2 ** 30;

export interface PlacementNode {
  node: string;
  /** Relative share of the shards; above 0. */
  weight: number;
}

interface HashHalves {
  low: number;
  high: number;
}

/** What has an order of nodes: a shard, or a collection or account that one node looks after. */
type PlacedId = ShardKey | CollectionId | AccountId;

/** The order of nodes for each shard. Immutable; `with` makes a new one for other nodes. */
export class Placement {
  readonly nodes: readonly PlacementNode[];
  readonly #low: Int32Array;
  readonly #high: Int32Array;
  readonly #at: Map<string, number>;
  readonly #isEven: boolean;
  /** Hashes of shards, shared by all placements made by `with`. */
  readonly #shards: Map<PlacedId, HashHalves>;
  readonly #firsts = new Map<PlacedId, number>();
  readonly #before: { firsts: Map<PlacedId, number>; stayed: Int32Array; added: number[] } | null;

  /** Node names must differ. */
  constructor(nodes: Iterable<PlacementNode>, before: Placement | null = null) {
    this.nodes = [...nodes].sort((a, b) => (a.node < b.node ? -1 : 1));
    const count = this.nodes.length;
    this.#low = new Int32Array(count);
    this.#high = new Int32Array(count);
    this.#at = new Map(this.nodes.map(({ node }, at) => [node, at]));
    if (this.#at.size < count) throw new RangeError('Two nodes have the same name.');
    this.#isEven = new Set(this.nodes.map(({ weight }) => weight)).size <= 1;
    this.#shards = before ? before.#shards : new Map();
    const stayed = new Int32Array(before?.nodes.length ?? 0).fill(-1);
    const added: number[] = [];
    this.nodes.forEach(({ node, weight }, at) => {
      if (!(weight > 0)) throw new RangeError('A node has no weight.');
      const was = before ? before.#at.get(node) : undefined;
      const { low, high } =
        before && was !== undefined
          ? { low: itemAt(before.#low, was), high: itemAt(before.#high, was) }
          : halvesOf(node);
      this.#low[at] = low;
      this.#high[at] = high;
      if (before && was !== undefined && before.nodes[was]?.weight === weight) stayed[was] = at;
      else added.push(at);
    });
    this.#before = before && { firsts: before.#firsts, stayed, added };
  }

  /** Returns the placement of other nodes, or this one if nothing differs. Keeps cached results. */
  with(nodes: readonly PlacementNode[]): Placement {
    const isSame = ({ node, weight }: PlacementNode) => this.nodes[this.#at.get(node) ?? -1]?.weight === weight;
    return nodes.length === this.nodes.length && nodes.every(isSame) ? this : new Placement(nodes, this);
  }

  /** Returns the node that should hold the shard; null if there are no nodes. */
  preferred(shard: PlacedId): string | null {
    let first = this.#firsts.get(shard);
    if (first === undefined) {
      first = this.#firstAfter(shard) ?? this.#first(shard);
      if (this.#firsts.size >= SHARDS_MAX) this.#firsts.clear();
      this.#firsts.set(shard, first);
    }
    return this.nodes[first]?.node ?? null;
  }

  /** Returns the first accepted node in the shard's order, or null. */
  first(shard: PlacedId, isAccepted: (node: string) => boolean): string | null {
    return this.nodes[this.#first(shard, isAccepted)]?.node ?? null;
  }

  /** Returns the first accepted one of the given nodes in the shard's order, or null. */
  firstOf(shard: PlacedId, nodes: Iterable<string>, isAccepted: (node: string) => boolean): string | null {
    const key = this.#halves(shard);
    let best = -1;
    for (const node of nodes) {
      const at = this.#at.get(node) ?? -1;
      if (at >= 0 && (best < 0 || this.#isBefore(key, at, best)) && isAccepted(node)) best = at;
    }
    return this.nodes[best]?.node ?? null;
  }

  /** Returns the first `count` accepted nodes in the shard's order, or all if there are fewer. */
  order(shard: PlacedId, count: number, isAccepted: (node: string) => boolean = () => true): string[] {
    const chosen: string[] = [];
    while (chosen.length < count) {
      const node = this.first(shard, (other) => !chosen.includes(other) && isAccepted(other));
      if (node === null) break;
      chosen.push(node);
    }
    return chosen;
  }

  /** Derives the first node from the previous placement; undefined if unknown there or gone. */
  #firstAfter(shard: PlacedId): number | undefined {
    const was = this.#before?.firsts.get(shard) ?? -1;
    if (!this.#before || was < 0) return undefined;
    const at = itemAt(this.#before.stayed, was);
    if (at < 0) return undefined;
    const key = this.#halves(shard);
    return this.#before.added.reduce((best, other) => (this.#isBefore(key, other, best) ? other : best), at);
  }

  #first(shard: PlacedId, isAccepted: ((node: string) => boolean) | null = null): number {
    const key = this.#halves(shard);
    let best = -1;
    let bestScore = 0;
    for (let at = 0; at < this.nodes.length; at++) {
      const score = this.#score(key, at);
      // With equal scores the earlier name comes first, on every node.
      if (best >= 0 && score <= bestScore) continue;
      if (isAccepted !== null && !isAccepted(itemAt(this.nodes, at).node)) continue;
      best = at;
      bestScore = score;
    }
    return best;
  }

  #isBefore(key: HashHalves, at: number, other: number): boolean {
    const score = this.#score(key, at);
    const otherScore = this.#score(key, other);
    return score > otherScore || (score === otherScore && at < other);
  }

  /** A higher score comes first. If all weights are equal, the hash itself gives that order. */
  #score({ low, high }: HashHalves, at: number): number {
    const mixed = finalise((finalise(low ^ this.#low[at]!) + high) ^ this.#high[at]!) >>> 0;
    return this.#isEven ? mixed : Math.log((mixed + 0.5) / 2 ** 32) / this.nodes[at]!.weight;
  }

  #halves(shard: PlacedId): HashHalves {
    const known = this.#shards.get(shard);
    if (known !== undefined) return known;
    const halves = halvesOf(shard);
    if (this.#shards.size >= SHARDS_MAX) this.#shards.clear();
    this.#shards.set(shard, halves);
    return halves;
  }
}

function halvesOf(name: string): HashHalves {
  const digest = hash('sha256', name, 'buffer');
  return { low: digest.readInt32LE(0), high: digest.readInt32LE(4) };
}

/** MurmurHash3's fmix32: each input bit flips each output bit with probability one half. */
function finalise(value: number): number {
  let mixed = imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
