/**
 * Finds the records of a shard that are most similar to a vector.
 *
 * Promises: scores are exact however a record was found; a query returns min(topK, matching
 * records) matches, less only those below `scoreThreshold`; best first, ties by id in UTF-8 byte
 * order. Records that the graph does not hold yet are always scanned. Without a graph, with
 * `exact`, or where a scan is cheaper, the matching records are scanned; else the graph is asked
 * for more and more candidates until enough of them match, and a scan ends it if that grows dearer.
 *
 * All of it is done in steps of about `stepNs`; only a search of the graph, and of one record, is
 * in one piece. A graph search that would make others wait gives way to a scan that is no dearer.
 */

import type { FieldReport } from '../../../lib/shard/field-report.ts';
import type { ShardMatch } from '../../../lib/shard/match.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { COLUMNS_MIN_BYTES } from './filter/columns.ts';
import { Selector } from './filter/selection.ts';
import type { ShardQuery } from './query.ts';
import { Scorer } from './scorer.ts';
import { SearchRun } from './search-run.ts';
import type { Slots } from './slots.ts';
import { STEP_NS, StepMeter, type Steps } from './steps.ts';
import { VectorIndex, type VectorIndexOptions } from './vector-index.ts';

/** Estimate of what it takes to take the worst out of the best. */
const RANK_NS = 300;

export interface SearchOptions extends VectorIndexOptions {
  /**
   * How many times dearer a scan is taken to be than measured; raised, it sends searches of small
   * shards to the graph.
   */
  scanCostFactor?: number;
  /** Work of one step, by estimate. */
  stepNs?: number;
  /** What the columns of filters may take however little the records take. */
  columnsMinBytes?: number;
}

/** The best records of a query, best first: where they lie, and how close they are. */
export interface Ranking {
  slots: Uint32Array;
  closeness: Float64Array;
  scorer: Scorer;
  /** Present if the request named fields. */
  fields?: FieldReport | undefined;
}

export class Search {
  readonly index: VectorIndex;
  readonly #spec: ShardSpec;
  readonly #slots: Slots;
  readonly selector: Selector;
  readonly #scanCostFactor: number;
  readonly #stepNs: number;

  constructor(spec: ShardSpec, slots: Slots, options: SearchOptions) {
    this.index = new VectorIndex(spec.metric, spec.quantization, slots, options);
    this.#spec = spec;
    this.#slots = slots;
    this.selector = new Selector(slots, options.columnsMinBytes ?? COLUMNS_MIN_BYTES);
    this.#scanCostFactor = options.scanCostFactor ?? 1;
    this.#stepNs = options.stepNs ?? STEP_NS;
  }

  get bytes(): number {
    return this.index.bytes + this.selector.bytes;
  }

  /**
   * Follows a record that now lies in `newSlot` and no more in `oldSlot`; -1 stands for nowhere.
   * Both must still be readable.
   */
  changed(oldSlot: number, newSlot: number): void {
    this.index.changed(oldSlot, newSlot);
    this.selector.changed(oldSlot, newSlot);
  }

  moved(from: number, to: number): void {
    this.index.moved(from, to);
    this.selector.changed(from, to);
  }

  *rank(query: ShardQuery): Steps<Ranking> {
    const meter = new StepMeter(this.#stepNs);
    const selection = this.selector.isAll(query) ? null : yield* this.selector.select(query, meter);
    const scorer = new Scorer(this.#spec.metric, this.#slots, query.vector);
    const run = new SearchRun(this.#slots, query, selection, scorer, this.#scanCostFactor, meter);
    const graph = query.exact ? null : this.index.graph;
    const best = yield* graph === null ? run.scan() : run.search(graph);
    const slots = new Uint32Array(best.size);
    const closeness = new Float64Array(best.size);
    for (let rank = best.size - 1; rank >= 0; rank--) {
      const worst = best.takeWorst();
      slots[rank] = worst.slot;
      closeness[rank] = worst.closeness;
      meter.spentNs += RANK_NS;
      if (meter.due()) yield 'reading';
    }
    return { slots, closeness, scorer, fields: selection?.fields };
  }

  /** What a query is told of one that was ranked. */
  matchAt(rank: number, { slots, closeness, scorer }: Ranking, query: ShardQuery): ShardMatch {
    const slot = slots[rank];
    const match: ShardMatch = { id: this.#slots.id(slot), score: scorer.scoreOf(closeness[rank]) };
    if (this.#spec.metric === 'euclidean') match.distance = 0 - closeness[rank];
    if (query.includeMetadata) match.metadata = this.#slots.metadata(slot).toString();
    if (query.includeValues) match.values = this.#slots.vector(slot).slice();
    return match;
  }
}
