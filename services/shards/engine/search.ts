/**
 * Finds the records of a shard that are most similar to a vector.
 *
 * Guarantees: scores are exact however a record was found. A query returns min(topK, matching
 * records) matches, minus those below `scoreThreshold`; best first, ties by id in UTF-8 byte order.
 * Records not in the graph yet are always scanned. With `exact`, without a graph, or when cheaper,
 * all matching records are scanned. Otherwise the graph search asks for more candidates until
 * enough match, falling back to a scan if that would cost more.
 *
 * Runs in steps of about `stepNs`, except that one graph search is one step. A graph search that
 * would block others is replaced by a scan unless the scan costs much more.
 */

import { itemAt } from '../../../lib/checked-access.ts';
import type { FieldReport } from '../../../lib/shard/field-report.ts';
import type { ShardMatch } from '../../../lib/shard/match.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { COLUMNS_MIN_BYTES } from './filter/columns.ts';
import { Selector } from './filter/selection.ts';
import type { ShardQuery } from './port.ts';
import { Scorer } from './scorer.ts';
import { SearchRun } from './search-run.ts';
import type { SlotView } from './slot-view.ts';
import { VectorIndex, type VectorIndexOptions } from './vector-index.ts';

/** Estimated cost of removing the worst of the best records. */
const RANK_NS = 300;

export interface SearchOptions extends VectorIndexOptions {
  /**
   * Multiplier for the estimated cost of scans. Raise it to send searches of small shards to the
   * graph.
   */
  scanCostFactor?: number;
  /** Estimated work per step, in nanoseconds. */
  stepNs?: number;
  /** Memory, in bytes, that filter columns may always take, however few records there are. */
  columnsMinBytes?: number;
}

/** The best records of a query, best first, as slots with their closeness. */
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
  readonly #slots: SlotView;
  readonly selector: Selector;
  readonly #scanCostFactor: number;

  constructor(spec: ShardSpec, slots: SlotView, options: SearchOptions) {
    this.index = new VectorIndex(spec.metric, spec.quantization, slots, options);
    this.#spec = spec;
    this.#slots = slots;
    this.selector = new Selector(slots, options.columnsMinBytes ?? COLUMNS_MIN_BYTES);
    this.#scanCostFactor = options.scanCostFactor ?? 1;
  }

  get bytes(): number {
    return this.index.bytes + this.selector.bytes;
  }

  /**
   * Updates the index and the selector after a record moved from `oldSlot` (-1 for a new record) to
   * `newSlot` (-1 for a deleted one). Both slots must still be readable.
   */
  changed(oldSlot: number, newSlot: number): void {
    this.index.changed(oldSlot, newSlot);
    this.selector.changed(oldSlot, newSlot);
  }

  moved(from: number, to: number): void {
    this.index.moved(from, to);
    this.selector.changed(from, to);
  }

  *rank(query: ShardQuery, meter: StepMeter): Steps<Ranking> {
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

  /** Returns one ranked record in the form the query asks for. */
  matchAt(rank: number, { slots, closeness, scorer }: Ranking, query: ShardQuery): ShardMatch {
    const slot = itemAt(slots, rank);
    const close = itemAt(closeness, rank);
    const match: ShardMatch = { id: this.#slots.id(slot), score: scorer.scoreOf(close) };
    if (this.#spec.metric === 'euclidean') match.distance = 0 - close;
    if (query.includeMetadata) match.metadata = this.#slots.metadata(slot).toString();
    if (query.includeValues) match.values = this.#slots.vector(slot).slice();
    return match;
  }
}
