import type { Selection } from './filter/selection.ts';
import type { Found, Graph } from './graph.ts';
import type { IndexVector } from './index-space.ts';
import type { ShardQuery } from './query.ts';
import type { Scorer } from './scorer.ts';
import type { Slots } from './slots.ts';
import type { StepMeter, Steps } from './steps.ts';
import { TopK } from './top-k.ts';

/** A graph search asks for this many candidates, whatever is wanted ... */
const CANDIDATES_MIN = 70;
/**
 * ... for more where they cost less, as those of few dimensions do, and lie in clusters that a
 * short search does not get out of: for as many as take this long ...
 */
const CANDIDATES_MIN_NS = 28_000;
const CANDIDATES_NARROW_MAX = 200;
/**
 * ... for so many times more with each doubling of the graph beyond this many nodes, since a search
 * of the same width finds less in a larger graph (docs/benchmarks.md, "Recall as a collection
 * grows") ...
 */
const CANDIDATES_PER_DOUBLING = 1.35;
const CANDIDATES_MIN_NODES = 60_000;
/**
 * ... and this many more per match wanted: recall falls off towards the last of what a search
 * returns.
 */
const CANDIDATES_PER_MATCH = 5;
/** A search of the graph cannot be interrupted: a longer one is made only ... */
const GRAPH_SEARCH_MAX_US = 12_000;
/** ... where a scan would be so many times dearer. */
const DEAR_SCAN = 8;
/** Estimate of what it takes to compare the ids of two records. */
const TIE_NS = 600;

/**
 * One query over the live slots, or over those of a selection. The shard must not change from its
 * first step to its last.
 */
export class SearchRun {
  readonly #slots: Slots;
  readonly #query: ShardQuery;
  readonly #selection: Selection | null;
  readonly #scorer: Scorer;
  readonly #batch: Uint32Array;
  readonly #scanCostFactor: number;
  readonly #meter: StepMeter;
  readonly #rowNs: number;

  constructor(
    slots: Slots,
    query: ShardQuery,
    selection: Selection | null,
    scorer: Scorer,
    scanCostFactor: number,
    meter: StepMeter,
  ) {
    this.#slots = slots;
    this.#query = query;
    this.#selection = selection;
    this.#scorer = scorer;
    this.#batch = new Uint32Array(scorer.batchMax);
    this.#scanCostFactor = scanCostFactor;
    this.#meter = meter;
    this.#rowNs = Math.ceil(50 + 0.9 * slots.dimensions);
  }

  *scan(): Steps<TopK> {
    const words = this.#selection?.words ?? this.#slots.live.words;
    const best = this.#topK();
    const end = this.#matching === 0 ? 0 : Math.min(words.length * 32, this.#slots.end);
    const batch = this.#batch;
    let next = 0;
    yield* this.#offerAll(best, (most) => {
      let slot = next;
      let count = 0;
      while (slot < end && count < most) {
        const bits = words[slot >>> 5] >>> (slot & 31);
        if (bits === 0) {
          slot = (slot | 31) + 1;
          continue;
        }
        slot += 31 - Math.clz32(bits & -bits);
        if (slot < end) batch[count++] = slot++;
      }
      next = slot;
      return count;
    });
    return best;
  }

  *search(graph: Graph): Steps<TopK> {
    const queryVector = graph.space.query(this.#query.vector, this.#scorer.length);
    if (queryVector === null) return yield* this.scan();
    const matches = (slot: number) => this.#matches(slot);
    const tail = graph.tail.filter(matches);
    const reachable = this.#matching - tail.length;
    const wanted = Math.min(this.#query.topK, reachable);
    const yielded = reachable / Math.max(1, graph.nodes);
    const least = Math.min(CANDIDATES_NARROW_MAX, Math.max(CANDIDATES_MIN, CANDIDATES_MIN_NS / this.#rowNs));
    const doublings = Math.max(0, Math.log2(graph.nodes / CANDIDATES_MIN_NODES));
    const width = least * (1 + CANDIDATES_PER_DOUBLING * doublings);
    let candidates = Math.ceil(graph.space.candidateFactor * (width + (wanted / yielded) * CANDIDATES_PER_MATCH));
    while (wanted > 0 && this.#prefersGraph(graph, candidates, reachable)) {
      if (this.#meter.due()) yield 'reading';
      const found = graph.search(queryVector, candidates, matches);
      this.#meter.spentNs += Math.ceil(this.#graphCost(candidates, graph) * 1_000);
      if (found.slots.length >= wanted) return yield* this.#rank(nearest(found, wanted, graph, queryVector), tail);
      candidates *= 2;
    }
    return yield* this.scan();
  }

  get #matching(): number {
    return this.#selection?.count ?? this.#slots.liveCount;
  }

  /** As many as end the step, at least one. */
  get #batchMax(): number {
    const { stepNs, spentNs } = this.#meter;
    return Math.min(this.#batch.length, Math.max(1, Math.ceil((stepNs - spentNs) / this.#rowNs)));
  }

  /**
   * Offers what `fill` puts into the batch, each time so many at most, until it puts none. Ties are
   * noted in the meter as they come.
   */
  *#offerAll(best: TopK, fill: (most: number) => number): Steps<void> {
    const least = this.#query.scoreThreshold;
    for (let count = fill(this.#batchMax); count > 0; count = fill(this.#batchMax)) {
      const closeness = this.#scorer.closeness(this.#batch, count);
      for (let i = 0; i < count; i++) {
        if (least === null || this.#scorer.scoreOf(closeness[i]) >= least) best.offer(this.#batch[i], closeness[i]);
      }
      this.#meter.spentNs += count * this.#rowNs;
      if (this.#meter.due()) yield 'reading';
    }
  }

  *#rank(found: Uint32Array, tail: readonly number[]): Steps<TopK> {
    const best = this.#topK();
    for (const slots of [tail, found]) {
      let at = 0;
      yield* this.#offerAll(best, (most) => {
        let count = 0;
        while (at < slots.length && count < most) this.#batch[count++] = slots[at++];
        return count;
      });
    }
    return best;
  }

  #matches(slot: number): boolean {
    return this.#selection === null || (this.#selection.words[slot >>> 5] & (1 << (slot & 31))) !== 0;
  }

  #prefersGraph(graph: Graph, candidates: number, reachable: number): boolean {
    const ofGraph = this.#graphCost(candidates, graph);
    const ofScan = this.#scanCost(reachable);
    return ofGraph < ofScan && (ofGraph <= GRAPH_SEARCH_MAX_US || ofGraph * DEAR_SCAN < ofScan);
  }

  /**
   * Microseconds, roughly, as measured: scans read memory in order, graph searches jump and look at
   * several vectors per candidate.
   */
  #scanCost(slots: number): number {
    return this.#scanCostFactor * slots * (0.05 + 0.0009 * this.#slots.dimensions);
  }

  #graphCost(candidates: number, graph: Graph): number {
    if (candidates >= graph.nodes) return Number.POSITIVE_INFINITY;
    return candidates * (1.5 + 0.009 * this.#slots.dimensions);
  }

  #topK(): TopK {
    const k = Math.min(this.#query.topK, this.#matching);
    return new TopK(k, (slot) => {
      this.#meter.spentNs += TIE_NS;
      return this.#slots.id(slot);
    });
  }
}

/**
 * Those of `found` that may be among the `wanted` best, as far as the index' precision leaves it
 * open.
 */
function nearest({ slots, distances }: Found, wanted: number, graph: Graph, query: IndexVector): Uint32Array {
  const reach = graph.space.reach(distances[wanted - 1], query);
  let count = wanted;
  while (count < slots.length && distances[count] <= reach) count++;
  return slots.subarray(0, count);
}
