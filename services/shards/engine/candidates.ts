import type { FoundNodes, Graph } from './graph.ts';
import type { IndexQuery } from './index-space.ts';

/** Maximum number of slots that one `fill` inspects. */
const LOOKED_AT_MAX = 4_096;

/**
 * The slots of the nodes that a graph search found, nearest first. Rounding may have moved both the
 * query and the records; `isBeyond` allows for it.
 */
export class Candidates {
  readonly #graph: Graph;
  readonly #found: FoundNodes;
  readonly #query: IndexQuery;
  readonly #queryLength: number;
  #at = 0;
  /** Next slot of the node at `#at`, -1 for its first. */
  #slot = -1;
  /** Number of steps of the last `fill` that found no match. */
  passed = 0;

  /** `queryLength` is the length of the query's vector outside the space. */
  constructor(graph: Graph, found: FoundNodes, query: IndexQuery, queryLength: number) {
    this.#graph = graph;
    this.#found = found;
    this.#query = query;
    this.#queryLength = queryLength;
  }

  /** Whether `fill` has passed all nodes. */
  get isDone(): boolean {
    return this.#at === this.#found.nodes.length;
  }

  /** Writes up to `most` matching slots to the batch. Returns their number. */
  fill(batch: Uint32Array, most: number, matches: (slot: number) => boolean): number {
    const { nodes } = this.#found;
    let count = 0;
    this.passed = 0;
    for (let looked = 0; count < most && looked < LOOKED_AT_MAX && this.#at < nodes.length; looked++) {
      const slot = this.#slot < 0 ? this.#graph.firstSlot(nodes[this.#at]) : this.#slot;
      if (slot >= 0 && matches(slot)) batch[count++] = slot;
      else this.passed++;
      this.#slot = slot < 0 ? -1 : this.#graph.nextSlot(slot);
      if (this.#slot < 0) this.#at++;
    }
    return count;
  }

  /**
   * Returns whether no remaining node can be as close as `floor`, whether the search found it or
   * not.
   */
  isBeyond(floor: number): boolean {
    const { nodes, distances } = this.#found;
    if (this.isDone && nodes.length >= this.#graph.nodes) return true;
    if (floor === Number.NEGATIVE_INFINITY || nodes.length === 0) return false;
    const distance = distances[Math.min(this.#at, nodes.length - 1)];
    return this.#graph.space.isBeyond(distance, floor, this.#queryLength, this.#query, this.#graph.error);
  }
}
