import { float64At, itemAt, uint32At } from '../../../lib/checked-access.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { hasBit } from './bitmap.ts';
import { Candidates } from './candidates.ts';
import type { Selection } from './filter/selection.ts';
import type { Graph } from './graph.ts';
import type { ShardQuery } from './port.ts';
import type { Scorer } from './scorer.ts';
import type { SlotView } from './slot-view.ts';
import { TopK } from './top-k.ts';

/** Minimum number of candidates of a graph search. */
const CANDIDATES_MIN = 70;
/**
 * Minimum scoring time of the candidates, in nanoseconds, up to CANDIDATES_NARROW_MAX of them.
 * Vectors of few dimensions are cheap to score and lie in clusters that a short search does not
 * leave.
 */
const CANDIDATES_MIN_NS = 28_000;
const CANDIDATES_NARROW_MAX = 200;
/**
 * Additional candidates, as a multiple of the minimum, with each doubling of the graph beyond
 * CANDIDATES_MIN_NODES. A search of the same width finds less in a larger graph
 * (docs/benchmarks.md, "Recall as a collection grows").
 */
const CANDIDATES_PER_DOUBLING = 1.35;
const CANDIDATES_MIN_NODES = 60_000;
/** Additional candidates per match wanted: recall falls towards the last of them. */
const CANDIDATES_PER_MATCH = 5;
/**
 * Maximum estimated time of a graph search, in microseconds, unless a scan takes DEAR_SCAN times as
 * long. A graph search cannot be interrupted.
 */
const GRAPH_SEARCH_MAX_US = 12_000;
const DEAR_SCAN = 8;
/** Number of candidates scored between two checks whether any other can be among the best. */
const CANDIDATES_AT_A_TIME = 12;
/** Estimated times, in nanoseconds, to compare the ids of two records and to skip a record. */
const TIE_NS = 150;
const PASS_NS = 10;

type Matches = (slot: number) => boolean;

/**
 * One query over the live slots, or over those of a selection. The shard must not change between
 * its first step and its last.
 */
export class SearchRun {
  readonly #slots: SlotView;
  readonly #query: ShardQuery;
  readonly #selection: Selection | null;
  readonly #scorer: Scorer;
  readonly #batch: Uint32Array;
  readonly #scanCostFactor: number;
  readonly #meter: StepMeter;
  readonly #rowNs: number;

  constructor(
    slots: SlotView,
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
        const bits = uint32At(words, slot >>> 5) >>> (slot & 31);
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
    const query = graph.space.query(this.#query.vector, this.#scorer.length);
    if (query === null) return yield* this.scan();
    const matches: Matches = (slot) => this.#matches(slot);
    const tail = graph.tail.filter(matches);
    const reachable = this.#matching - tail.length;
    const wanted = Math.min(this.#query.topK, reachable);
    const yielded = reachable / Math.max(1, graph.nodes);
    const least = Math.min(CANDIDATES_NARROW_MAX, Math.max(CANDIDATES_MIN, CANDIDATES_MIN_NS / this.#rowNs));
    const doublings = Math.max(0, Math.log2(graph.nodes / CANDIDATES_MIN_NODES));
    const width = least * (1 + CANDIDATES_PER_DOUBLING * doublings);
    const { candidateFactor } = graph.space;
    let count = Math.ceil(candidateFactor * (width + (wanted / yielded) * CANDIDATES_PER_MATCH));
    for (; wanted > 0; count *= 2) {
      count = Math.min(count, graph.nodes);
      if (!this.#prefersGraph(count, reachable)) break;
      if (this.#meter.due()) yield 'reading';
      const found = graph.search(query.vector, count);
      this.#meter.spentNs += Math.ceil(this.#graphCost(count) * 1_000);
      const candidates = new Candidates(graph, found, query, this.#scorer.length);
      const best = yield* this.#rank(candidates, tail, matches);
      if (best !== null) return best;
      if (count === graph.nodes) break;
    }
    return yield* this.scan();
  }

  get #matching(): number {
    return this.#selection?.count ?? this.#slots.liveCount;
  }

  /** Number of rows that fill the rest of the step, at least one. */
  get #batchMax(): number {
    const { stepNs, spentNs } = this.#meter;
    return Math.min(this.#batch.length, Math.max(1, Math.ceil((stepNs - spentNs) / this.#rowNs)));
  }

  /** Offers the slots that `fill` writes to the batch, at most `most` a call, until it has none. */
  *#offerAll(best: TopK, fill: (most: number) => number): Steps<void> {
    for (let count = fill(this.#batchMax); count > 0; count = fill(this.#batchMax)) {
      this.#offer(best, count);
      if (this.#meter.due()) yield 'reading';
    }
  }

  /** Offers the first `count` slots of the batch. The comparison of ties charges the meter. */
  #offer(best: TopK, count: number): void {
    const least = this.#query.scoreThreshold;
    const closeness = this.#scorer.closeness(this.#batch, count);
    for (let i = 0; i < count; i++) {
      const close = float64At(closeness, i);
      if (least === null || this.#scorer.scoreOf(close) >= least) best.offer(uint32At(this.#batch, i), close);
    }
    this.#meter.spentNs += count * this.#rowNs;
  }

  /**
   * Ranks the tail and the candidates. Returns null if records beyond the candidates may be among
   * the best.
   */
  *#rank(candidates: Candidates, tail: readonly number[], matches: Matches): Steps<TopK | null> {
    const best = this.#topK();
    let at = 0;
    yield* this.#offerAll(best, (most) => {
      let count = 0;
      while (at < tail.length && count < most) this.#batch[count++] = itemAt(tail, at++);
      return count;
    });
    const { scoreThreshold } = this.#query;
    const least = scoreThreshold === null ? Number.NEGATIVE_INFINITY : this.#scorer.closenessOf(scoreThreshold);
    for (;;) {
      if (candidates.isBeyond(Math.max(least, best.floor))) return best;
      if (candidates.isDone) return null;
      const count = candidates.fill(this.#batch, Math.min(CANDIDATES_AT_A_TIME, this.#batchMax), matches);
      this.#offer(best, count);
      this.#meter.spentNs += candidates.passed * PASS_NS;
      if (this.#meter.due()) yield 'reading';
    }
  }

  #matches(slot: number): boolean {
    return this.#selection === null || hasBit(this.#selection.words, slot);
  }

  #prefersGraph(candidates: number, reachable: number): boolean {
    const ofGraph = this.#graphCost(candidates);
    const ofScan = this.#scanCost(reachable);
    return ofGraph < ofScan && (ofGraph <= GRAPH_SEARCH_MAX_US || ofGraph * DEAR_SCAN < ofScan);
  }

  /** Estimates the time of a scan in microseconds, from measurements. */
  #scanCost(slots: number): number {
    return this.#scanCostFactor * slots * (0.05 + 0.0009 * this.#slots.dimensions);
  }

  /**
   * Estimates the time of a graph search in microseconds, from measurements. A graph search reads
   * several vectors per candidate, from anywhere in memory.
   */
  #graphCost(candidates: number): number {
    return candidates * (1.5 + 0.009 * this.#slots.dimensions);
  }

  #topK(): TopK {
    const k = Math.min(this.#query.topK, this.#matching);
    return new TopK(k, (slotA, slotB) => {
      this.#meter.spentNs += TIE_NS;
      return this.#slots.compareIds(slotA, slotB);
    });
  }
}
