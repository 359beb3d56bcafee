import type { Metric } from '../../../lib/store/catalog.ts';
import { kernelRows, rowsAtATime, squareOf, sumsOf } from './kernel/similarity-kernel.ts';
import type { Slots } from './slots.ts';

/**
 * Exact scores of slots against one query: float32 vectors, float64 sums, and always the same order
 * of additions, so that a record's score does not depend on how it was found. Higher is better: the
 * cosine similarity in [-1, 1] (0 beside a zero vector; exactly 1 for a vector that equals the
 * query bit for bit), the dot product, or 1 / (1 + distance).
 *
 * Records are ranked by their *closeness*: the score, but under euclidean the negative distance, of
 * which many may share one rounded score.
 */
export class Scorer {
  /** As many slots as `closeness` takes. */
  readonly batchMax: number;
  readonly #metric: Metric;
  readonly #slots: Slots;
  readonly #query: Float64Array;
  /** The sum of squares of the query. */
  readonly #square: number;
  readonly #closeness: Float64Array;

  constructor(metric: Metric, slots: Slots, vector: Float32Array) {
    this.#metric = metric;
    this.#slots = slots;
    this.#query = Float64Array.from(vector);
    this.#square = squareOf(vector);
    this.batchMax = rowsAtATime(vector.length);
    this.#closeness = new Float64Array(this.batchMax);
  }

  /** The length of the query. */
  get length(): number {
    return Math.sqrt(this.#square);
  }

  /** That of the first `count` of `batch`, in its order; it holds until the next call. */
  closeness(batch: Uint32Array, count: number): Float64Array {
    const closeness = this.#closeness;
    const sums = this.#sums(batch, count);
    switch (this.#metric) {
      case 'cosine':
        for (let i = 0; i < count; i++) {
          // The root of s * s is s to the last bit; that of s times itself may not be.
          const lengths = Math.sqrt(this.#square * this.#slots.square(batch[i]));
          closeness[i] = lengths === 0 ? 0 : Math.max(-1, Math.min(1, sums[i] / lengths));
        }
        break;
      case 'dot':
        for (let i = 0; i < count; i++) closeness[i] = sums[i];
        break;
      case 'euclidean':
        for (let i = 0; i < count; i++) closeness[i] = -Math.sqrt(sums[i]);
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
      const first = batch[i];
      // Slots that lie side by side are copied as one.
      let run = 1;
      while (i + run < count && batch[i + run] === first + run && ((first + run) & mask) !== 0) run++;
      const from = (first & mask) * dimensions;
      kernelRows.set(chunks[first >>> shift].vectors.subarray(from, from + run * dimensions), i * dimensions);
      i += run;
    }
    return sumsOf(this.#metric === 'euclidean' ? 'squaredDistance' : 'dot', this.#query, count);
  }
}
