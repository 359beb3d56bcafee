import { float64At, uint32At } from '../../../lib/checked-access.ts';
import type { Metric } from '../../../lib/records/metric.ts';
import { kernelRows, rowsPerCall, sumOfSquares, sumsOf } from './kernel/similarity-kernel.ts';
import type { SlotChunk, SlotView } from './slot-view.ts';

/**
 * Computes exact scores of slots against one query from float32 vectors, with float64 sums. The
 * order of additions is fixed, so a record's score does not depend on how it was found. Higher is
 * better: the cosine similarity in [-1, 1] (0 with a zero vector; exactly 1 for a vector equal to
 * the query bit for bit), the dot product, or 1 / (1 + distance).
 *
 * Records are ranked by *closeness*: the score or, for euclidean, the negative distance, because
 * many distances may round to one score.
 */
export class Scorer {
  /** Maximum number of slots per call of `closeness`. */
  readonly batchMax: number;
  readonly #metric: Metric;
  readonly #slots: SlotView;
  readonly #query: Float64Array;
  /** Sum of squares of the query. */
  readonly #square: number;
  readonly #closeness: Float64Array;

  constructor(metric: Metric, slots: SlotView, vector: Float32Array) {
    this.#metric = metric;
    this.#slots = slots;
    this.#query = Float64Array.from(vector);
    this.#square = sumOfSquares(vector);
    this.batchMax = rowsPerCall(vector.length);
    this.#closeness = new Float64Array(this.batchMax);
  }

  /** Length of the query vector. */
  get length(): number {
    return Math.sqrt(this.#square);
  }

  /** Returns the closeness of the first `count` slots of `batch`, valid until the next call. */
  closeness(batch: Uint32Array, count: number): Float64Array {
    const closeness = this.#closeness;
    const sums = this.#sums(batch, count);
    switch (this.#metric) {
      case 'cosine':
        for (let i = 0; i < count; i++) {
          // A single root of the product: for equal vectors it is exactly their square, so cosine
          // is 1. The product of two rounded roots might not be.
          const lengths = Math.sqrt(this.#square * this.#slots.square(uint32At(batch, i)));
          closeness[i] = lengths === 0 ? 0 : Math.max(-1, Math.min(1, float64At(sums, i) / lengths));
        }
        break;
      case 'dot':
        for (let i = 0; i < count; i++) closeness[i] = float64At(sums, i);
        break;
      case 'euclidean':
        for (let i = 0; i < count; i++) closeness[i] = -Math.sqrt(float64At(sums, i));
    }
    return closeness;
  }

  scoreOf(closeness: number): number {
    return this.#metric === 'euclidean' ? 1 / (1 - closeness) : closeness;
  }

  /** Returns, approximately, the lowest closeness with this score. */
  closenessOf(score: number): number {
    if (this.#metric !== 'euclidean') return score;
    return score > 0 ? 1 - 1 / score : Number.NEGATIVE_INFINITY;
  }

  #sums(batch: Uint32Array, count: number): Float64Array {
    const { chunks, shift, mask, dimensions } = this.#slots;
    for (let i = 0; i < count; ) {
      const first = uint32At(batch, i);
      // Adjacent slots are copied together.
      let run = 1;
      while (i + run < count && batch[i + run] === first + run && ((first + run) & mask) !== 0) run++;
      const from = (first & mask) * dimensions;
      // Not chunkOf, whose check a scan pays for with every record.
      const { vectors } = chunks[first >>> shift] as SlotChunk;
      kernelRows.set(vectors.subarray(from, from + run * dimensions), i * dimensions);
      i += run;
    }
    return sumsOf(this.#metric === 'euclidean' ? 'squaredDistance' : 'dot', this.#query, count);
  }
}
