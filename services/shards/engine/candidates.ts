import type { FoundNodes, Graph } from './graph.ts';
import type { IndexQuery } from './index-space.ts';

/** Maximum slots inspected per call of `fill`, so that other requests get a turn. */
const LOOKED_AT_MAX = 4_096;

/**
 * The slots behind the nodes that a search of the graph found, nearest first. Rounding may change
 * that order; `isBeyond` allows for the largest possible change.
 */
export class Candidates {
  readonly #graph: Graph;
  readonly #found: FoundNodes;
  readonly #query: IndexQuery;
  readonly #queryLength: number;
  #at = 0;
  /** The next slot of the node `at`, -1 for the first. */
  #slot = -1;
  /** Number of slots that the last `fill` skipped because they do not match. */
  passed = 0;

  /** `queryLength`: length of the query's vector. */
  constructor(graph: Graph, found: FoundNodes, query: IndexQuery, queryLength: number) {
    this.#graph = graph;
    this.#found = found;
    this.#query = query;
    this.#queryLength = queryLength;
  }

  /** Whether all nodes were visited. */
  get isDone(): boolean {
    return this.#at === this.#found.nodes.length;
  }

  /** Puts up to `most` slots that match into the batch. Returns their number. */
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
   * Whether neither the nodes still ahead nor those that the search did not find can be as close as
   * `floor`.
   */
  isBeyond(floor: number): boolean {
    const { nodes, distances } = this.#found;
    if (this.isDone && nodes.length >= this.#graph.nodes) return true;
    if (floor === Number.NEGATIVE_INFINITY || nodes.length === 0) return false;
    const distance = distances[Math.min(this.#at, nodes.length - 1)];
    return this.#graph.space.isBeyond(distance, floor, this.#queryLength, this.#query, this.#graph.error);
  }
}
