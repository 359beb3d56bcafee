import { itemAt, uint32At } from '../../../lib/checked-access.ts';
import type { FoundNodes, Graph } from './graph.ts';
import type { IndexQuery } from './index-space.ts';

/** Maximum number of slots that one `fill` inspects. */
const INSPECTED_MAX = 4_096;

/**
 * Iterates over the slots of the nodes a graph search found, nearest first. Both the query and the
 * records may have been rounded; `isBeyond` allows for that.
 */
export class Candidates {
  readonly #graph: Graph;
  readonly #found: FoundNodes;
  readonly #query: IndexQuery;
  readonly #queryLength: number;
  #at = 0;
  /** Next slot of the node at `#at`, or -1 for its first slot. */
  #slot = -1;
  /** Number of steps of the last `fill` that found no match. */
  passed = 0;

  /** `queryLength` is the length of the query vector before it was mapped into the index space. */
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

  /** Writes up to `most` matching slots to `batch`. Returns their number. */
  fill(batch: Uint32Array, most: number, matches: (slot: number) => boolean): number {
    const { nodes } = this.#found;
    let count = 0;
    this.passed = 0;
    for (let inspected = 0; count < most && inspected < INSPECTED_MAX && this.#at < nodes.length; inspected++) {
      const slot = this.#slot < 0 ? this.#graph.firstSlot(uint32At(nodes, this.#at)) : this.#slot;
      if (slot >= 0 && matches(slot)) batch[count++] = slot;
      else this.passed++;
      this.#slot = slot < 0 ? -1 : this.#graph.nextSlot(slot);
      if (this.#slot < 0) this.#at++;
    }
    return count;
  }

  /** Whether no remaining node, found by the search or not, can score as well as `floor`. */
  isBeyond(floor: number): boolean {
    const { nodes, distances } = this.#found;
    if (this.isDone && nodes.length >= this.#graph.nodes) return true;
    if (floor === Number.NEGATIVE_INFINITY || nodes.length === 0) return false;
    const distance = itemAt(distances, Math.min(this.#at, nodes.length - 1));
    return this.#graph.space.isBeyond(distance, floor, this.#queryLength, this.#query, this.#graph.error);
  }
}
