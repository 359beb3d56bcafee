/**
 * The graph index of a shard. A small shard has none. A larger one has a graph that grows behind
 * the writes, and during a rebuild also the next graph. Searches use the current graph and its
 * tail, which together hold every live slot.
 *
 * On failure: a graph that failed to grow is dropped, because it may hold nodes without a key.
 * Searches scan until a new graph is built. Building resumes after a pause that doubles with each
 * failure.
 */
import type { Metric, Quantization } from '../../../lib/records/metric.ts';
import type { Steps } from '../steps.ts';
import { forEachBit } from './bitmap.ts';
import { Graph } from './graph.ts';
import { IndexSpace, type SavedSpace } from './index-space.ts';
import { IndexFailure } from './port.ts';
import type { SlotView } from './slot-view.ts';
import { fitSpace } from './space-fit.ts';

/**
 * Vectors per call of usearch's `add`, which blocks queries for 0.25 to 0.5 ms per vector of 384
 * dimensions and thread.
 */
const SLICE_VECTORS = 8;
/**
 * Minimum tail that is added to the graph. Adding frequently updated records one by one would only
 * make stale nodes.
 */
const TAIL_MIN_SLOTS = 128;
const STALE_SHARE_MAX = 0.2;
const STALE_SLACK_NODES = 32;
const UNFIT_SHARE_MAX = 0.02;
/** Growth of the unfit vectors, as a factor, after which another space is tried again. */
const UNFIT_GROWTH_MIN = 1.25;
/** Maximum share of the unfit vectors that may not fit the new space for a rebuild to pay off. */
const UNFIT_LEFT_MAX = 0.5;
const SAMPLE_MAX_SLOTS = 4096;
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 3_600_000;

export interface VectorIndexOptions {
  /** Minimum number of live records for a graph; below, scans are as fast. */
  graphMinRecords?: number;
  /** Number of threads that usearch builds with. */
  graphThreads?: number;
  /** Clock for budgets and pauses, in milliseconds. */
  monotonicMs?: () => number;
}

export class VectorIndex {
  readonly #metric: Metric;
  readonly #quantization: Quantization;
  readonly #slots: SlotView;
  readonly #options: Required<VectorIndexOptions>;
  /** Graph that searches use; null if they must scan everything. */
  graph: Graph | null = null;
  #next: Graph | null = null;
  /** Number of unfit vectors when a new space was last tried and rejected. */
  #unfitAccepted = 0;
  /** Number of failures since a graph was last complete. */
  #failures = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(metric: Metric, quantization: Quantization, slots: SlotView, options: VectorIndexOptions) {
    this.#metric = metric;
    this.#quantization = quantization;
    this.#slots = slots;
    const { graphMinRecords = 2_000, graphThreads = 1, monotonicMs = () => performance.now() } = options;
    this.#options = { graphMinRecords, graphThreads, monotonicMs };
  }

  get bytes(): number {
    return (this.graph?.bytes ?? 0) + (this.#next?.bytes ?? 0);
  }

  /** Whether an earlier version laid out the graph that searches use. */
  get isOutdated(): boolean {
    return this.graph !== null && isOutdated(this.graph);
  }

  /**
   * Number of records that `buildSlice` has still to add. An outdated graph serves well, so only
   * its tail counts.
   */
  get waiting(): number {
    const live = this.#slots.liveCount;
    if (this.graph === null) return live < this.#options.graphMinRecords ? 0 : live;
    if (!this.isOutdated && this.#next !== null) return this.#next.tail.length - this.#next.unfit;
    if (!this.isOutdated && isStale(this.graph)) return live;
    const waiting = this.graph.tail.length - this.graph.unfit;
    return waiting < TAIL_MIN_SLOTS ? 0 : waiting;
  }

  /** Follows a record from `oldSlot`, -1 for a new record, to `newSlot`, -1 for a deleted one. */
  changed(oldSlot: number, newSlot: number): void {
    if (this.graph === null) return;
    const sameVector =
      oldSlot >= 0 && newSlot >= 0 && sameBits(this.#slots.vector(oldSlot), this.#slots.vector(newSlot));
    for (const graph of this.#graphs()) {
      if (sameVector) graph.move(oldSlot, newSlot);
      else {
        if (oldSlot >= 0) graph.remove(oldSlot);
        if (newSlot >= 0) graph.insert(newSlot);
      }
    }
  }

  moved(from: number, to: number): void {
    for (const graph of this.#graphs()) graph.move(from, to);
  }

  /**
   * Does one short piece of building. Returns false when there is nothing to do for now, which
   * includes an outdated graph that `mayUpgrade` does not let it replace. Throws IndexFailure.
   */
  buildSlice(mayUpgrade = true): boolean {
    if (this.#options.monotonicMs() < this.#pausedUntilMs) return false;
    if (this.isOutdated && this.#next === null && !mayUpgrade) return false;
    try {
      const more = this.#build();
      if (!more) this.#failures = 0;
      return more;
    } catch (error) {
      const pauseMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#failures++);
      this.#pausedUntilMs = this.#options.monotonicMs() + pauseMs;
      throw new IndexFailure(error, pauseMs, this.#failures === 1);
    }
  }

  /** Makes an empty graph to load the graph of a checkpoint into. */
  emptyGraph(saved: SavedSpace): Graph {
    return new Graph(new IndexSpace(this.#metric, this.#quantization, this.#slots.dimensions, saved.fit, saved));
  }

  /** Adopts a loaded graph, to which every live slot was attached or inserted. */
  *adopt(graph: Graph): Steps<void> {
    yield* graph.joinCopies(this.#slots);
    this.graph = graph;
    this.#next = null;
  }

  #build(): boolean {
    if (this.#slots.liveCount < this.#options.graphMinRecords / 2) {
      this.graph = null;
      this.#next = null;
      return false;
    }
    if (this.graph === null) {
      if (this.#slots.liveCount < this.#options.graphMinRecords) return false;
      this.graph = this.#newGraph();
    }
    const { graph } = this;
    if (this.#next === null && (isOutdated(graph) || isStale(graph) || this.#isOutgrown(graph)))
      this.#next = this.#newGraph();
    if (this.#next !== null) {
      if (!this.#grow(this.#next)) {
        this.graph = this.#next;
        this.#next = null;
      }
      return true;
    }
    const waiting = this.graph.tail.length - this.graph.unfit;
    if (waiting < TAIL_MIN_SLOTS) return false;
    this.#grow(this.graph);
    return true;
  }

  /** Adds a slice to the graph. Returns false when the graph has every vector that fits. */
  #grow(graph: Graph): boolean {
    try {
      return graph.addSlice(this.#slots, SLICE_VECTORS, this.#options.graphThreads);
    } catch (error) {
      if (graph === this.graph) this.graph = null;
      else this.#next = null;
      throw error;
    }
  }

  #newGraph(): Graph {
    const graph = new Graph(this.#newSpace());
    forEachBit(this.#slots.live.words, (slot) => graph.insert(slot));
    return graph;
  }

  #newSpace(): IndexSpace {
    const fit = fitSpace(this.#metric, this.#slots);
    return new IndexSpace(this.#metric, this.#quantization, this.#slots.dimensions, fit);
  }

  /** Whether many vectors that do not fit the graph's space would fit a new one. */
  #isOutgrown({ unfit }: Graph): boolean {
    const tolerated = Math.max(TAIL_MIN_SLOTS, this.#slots.liveCount * UNFIT_SHARE_MAX);
    if (unfit <= Math.max(tolerated, this.#unfitAccepted * UNFIT_GROWTH_MIN)) return false;
    if (this.#unfitShareOf(this.#newSpace()) * this.#slots.liveCount <= unfit * UNFIT_LEFT_MAX) return true;
    this.#unfitAccepted = unfit;
    return false;
  }

  /** Estimates, from a sample, the share of the live records that does not fit `space`. */
  #unfitShareOf(space: IndexSpace): number {
    const out = space.allocate(1);
    const stride = Math.max(1, Math.floor(this.#slots.end / SAMPLE_MAX_SLOTS));
    let sampled = 0;
    let unfit = 0;
    for (let slot = 0; slot < this.#slots.end; slot += stride) {
      if (!this.#slots.live.has(slot)) continue;
      sampled++;
      if (!space.put(this.#slots.vector(slot), this.#slots.norm(slot), out, 0)) unfit++;
    }
    return unfit / Math.max(1, sampled);
  }

  *#graphs(): Iterable<Graph> {
    if (this.graph !== null) yield this.graph;
    if (this.#next !== null) yield this.#next;
  }
}

/** Whether the graph has an outdated layout: inner products, or a node per copy. */
function isOutdated(graph: Graph): boolean {
  return graph.space.isOutdated || graph.copies > STALE_SLACK_NODES;
}

/** Whether the graph has many stale nodes. */
function isStale(graph: Graph): boolean {
  return graph.nodes - graph.liveNodes > Math.max(STALE_SLACK_NODES, graph.nodes * STALE_SHARE_MAX);
}

function sameBits(a: Float32Array, b: Float32Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
