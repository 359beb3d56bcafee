/**
 * The space in which the graph index measures distances. Turns every metric into one that the index
 * handles well at low precision, with the same order of neighbours. The engine computes exact
 * scores afterwards from the float32 vectors.
 *
 * On failure: it refuses a vector that does not fit (`put` returns false, `query` null).
 * See docs/internals/search.md.
 */
import { MetricKind, ScalarKind } from 'usearch';
import { float32At, uint32At } from '../../../lib/checked-access.ts';
import type { Metric, Quantization } from '../../../lib/records/metric.ts';
import { distanceTo, NORM_HEADROOM, NORM_RATIO_MAX, offsetAt, type SpaceFit } from './space-fit.ts';

const I8_MAX = 127;
/**
 * Maximum absolute component, as a multiple of the scale. Larger ones would overflow float16 and
 * the sums of squares.
 */
const COMPONENT_MAX = 1000;
/** Spread up to which euclidean searches keep their width. It grows in proportion beyond. */
const SPREAD_USUAL = 2;
/** Search width factors for dot: base, and per unit of spread. */
const DOT_FACTOR = 1.5;
const DOT_FACTOR_PER_SPREAD = 4;
const FACTOR_MAX = 8;
/** Relative error of usearch's 32-bit sums of squared differences. */
const SUM_ERROR = 1e-6;
/**
 * Error of usearch's 32-bit sums where it subtracts a product from squares, relative to the sum of
 * the squared lengths.
 */
const HALF_SUM_ERROR = 2 ** -22;
const BF16_DROPPED_BITS = 16;
const F32_IDENTITY_DROPPED_BITS = 6;

/** Space of a graph as a checkpoint describes it. */
export interface SavedSpace {
  fit: SpaceFit;
  /** usearch metric of the graph. Absent in checkpoints of earlier versions. */
  metric?: string;
}

export type IndexVector = Float32Array | Int8Array;

/** A query vector in the space of the index. */
export interface IndexQuery {
  vector: IndexVector;
  /** Length in the space, before rounding. */
  length: number;
  /** Distance by which rounding moved the vector. */
  error: number;
}

/** Component types of usearch, and their sizes in bytes. */
const SCALARS: Record<Quantization, { kind: ScalarKind; bytes: number }> = {
  bf16: { kind: ScalarKind.BF16, bytes: 2 },
  f32: { kind: ScalarKind.F32, bytes: 4 },
  f16: { kind: ScalarKind.F16, bytes: 2 },
  i8: { kind: ScalarKind.I8, bytes: 1 },
};

export class IndexSpace {
  readonly fit: SpaceFit;
  readonly metricKind: MetricKind;
  readonly scalarKind: ScalarKind;
  /** Number of components of a vector in the index. */
  readonly dimensions: number;
  /** Size of a vector's components in the index, in bytes. */
  readonly vectorBytes: number;
  /**
   * Whether the space belongs to the graph of an earlier version. Such a graph compares cosine and
   * dot product by inner product, and usearch has rescaled its i8 vectors.
   */
  readonly isOutdated: boolean;
  /** Whether the index returns 1 - cosine instead of a squared distance. */
  readonly #isAngular: boolean;
  readonly #metric: Metric;
  /** Distance by which rounding moved the vector of the last successful `put`. */
  error = 0;
  /** Buffer for the identity of an f32 vector. */
  readonly #identity: Float32Array<ArrayBuffer>;
  /** Buffer for the other version, before or after rounding, of the vector being rounded. */
  readonly #counterpart: Float32Array<ArrayBuffer>;
  /** Buffer for components as float16. */
  readonly #halves: Float16Array<ArrayBuffer>;

  constructor(
    metric: Metric,
    quantization: Quantization,
    dimensions: number,
    fit: SpaceFit,
    saved: SavedSpace | null = null,
  ) {
    this.fit = fit;
    this.#metric = metric;
    const { kind, bytes } = SCALARS[metric === 'dot' && quantization !== 'f32' ? 'f16' : quantization];
    this.scalarKind = kind;
    this.dimensions = metric === 'dot' ? dimensions + 1 : dimensions;
    this.vectorBytes = this.dimensions * bytes;
    this.#identity = new Float32Array(this.dimensions);
    this.#counterpart = new Float32Array(this.dimensions);
    this.#halves = new Float16Array(this.dimensions);
    const isStretched = metric === 'cosine' && this.scalarKind === ScalarKind.I8;
    this.metricKind = isStretched ? MetricKind.Cos : MetricKind.L2sq;
    this.isOutdated = saved !== null && saved.metric !== this.metricKind;
    this.#isAngular = isStretched || (this.isOutdated && metric !== 'euclidean');
  }

  /** Search width, as a multiple of the width for cosine at high precision. */
  get candidateFactor(): number {
    const spread = this.fit.spread ?? 1;
    const factor =
      this.#metric === 'dot'
        ? DOT_FACTOR + DOT_FACTOR_PER_SPREAD * Math.max(0, spread - NORM_HEADROOM)
        : Math.max(1, spread / SPREAD_USUAL);
    return Math.min(FACTOR_MAX, factor) * (this.scalarKind === ScalarKind.I8 ? 2 : 1);
  }

  /**
   * Returns whether a record at `distance` in the index cannot be as close as `closeness` to a
   * query of length `queryLength`. `error` is the maximum distance by which rounding moved a
   * record. By the triangle inequality, a distance is off by at most this and the query's error,
   * plus the error of usearch's 32-bit sums.
   */
  isBeyond(distance: number, closeness: number, queryLength: number, query: IndexQuery, error: number): boolean {
    if (this.isOutdated && this.scalarKind === ScalarKind.I8) return false;
    const nearest = this.#trueDistance(closeness, queryLength);
    const errors = error + query.error;
    // 1 - inner product is half the squared distance of unit vectors, and off by at most `errors`.
    if (this.isOutdated && this.#isAngular) return distance > nearest ** 2 / 2 + errors;
    const square = this.#isAngular ? 2 * distance : distance / (this.scalarKind === ScalarKind.I8 ? I8_MAX ** 2 : 1);
    const away = this.#metric === 'euclidean' ? query.length + Math.sqrt(Math.max(0, square)) : 1;
    const lost = this.scalarKind === ScalarKind.F32 ? 0 : HALF_SUM_ERROR * (query.length ** 2 + away ** 2);
    return square * (1 - SUM_ERROR) > (nearest + errors) ** 2 + lost;
  }

  #trueDistance(closeness: number, queryLength: number): number {
    if (this.#metric === 'euclidean') return -closeness / this.fit.scale;
    const lengths = this.#metric === 'dot' ? this.fit.scale * queryLength : 1;
    return lengths === 0 ? Math.SQRT2 : Math.sqrt(Math.max(0, 2 - (2 * closeness) / lengths));
  }

  /** Allocates an array for `count` vectors of the index. */
  allocate(count: number): IndexVector {
    const length = count * this.dimensions;
    return this.scalarKind === ScalarKind.I8 ? new Int8Array(length) : new Float32Array(length);
  }

  /**
   * Writes a record's vector to row `row` of `out`, in the form the index stores. Returns false,
   * writing nothing, if it does not fit.
   */
  put(vector: Float32Array, norm: number, out: IndexVector, row: number): boolean {
    const at = row * this.dimensions;
    if (this.#metric === 'dot') {
      if (norm > this.fit.scale || norm * NORM_RATIO_MAX < this.fit.scale) return false;
      for (let i = 0; i < vector.length; i++) out[at + i] = float32At(vector, i) / this.fit.scale;
      out[at + vector.length] = Math.sqrt(1 - (norm / this.fit.scale) ** 2);
    } else {
      const { center, radius = Number.POSITIVE_INFINITY } = this.fit;
      if (center.length > 0 && distanceTo(center, vector) > radius) return false;
      if (!this.#putScaled(vector, norm, out, at)) return false;
    }
    this.#round(out, at);
    return true;
  }

  /**
   * Returns bytes that are equal for vectors that share a node. f32 components keep 17 bits of
   * precision, because one direction at several lengths gives unit vectors that differ in the last
   * bits. The result is valid until the next call.
   */
  identity(vectors: IndexVector, row: number): Uint8Array {
    const vector = vectors.subarray(row * this.dimensions, (row + 1) * this.dimensions);
    if (vector instanceof Float32Array && this.scalarKind === ScalarKind.F32) {
      this.#identity.set(vector);
      roundWords(this.#identity, F32_IDENTITY_DROPPED_BITS);
      return new Uint8Array(this.#identity.buffer);
    }
    return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
  }

  /** Converts a query vector. Returns null if it does not fit. */
  query(vector: Float32Array, norm: number): IndexQuery | null {
    const out = this.allocate(1);
    if (this.#metric === 'dot')
      for (let i = 0; i < vector.length; i++) out[i] = norm === 0 ? 0 : float32At(vector, i) / norm;
    else if (!this.#putScaled(vector, norm, out, 0)) return null;
    this.#round(out, 0);
    const length = this.#metric === 'euclidean' ? distanceTo(this.fit.center, vector) / this.fit.scale : 1;
    return { vector: out, length, error: this.error };
  }

  /** Rounds to the index's precision, so equal stored vectors are equal here. */
  #round(out: IndexVector, at: number): void {
    if (!(out instanceof Float32Array)) return;
    const vector = out.subarray(at, at + this.dimensions);
    const counterpart = this.#counterpart;
    counterpart.set(vector);
    if (this.scalarKind === ScalarKind.F16) {
      this.#halves.set(vector);
      vector.set(this.#halves);
    } else if (this.scalarKind === ScalarKind.BF16) {
      roundWords(vector, BF16_DROPPED_BITS);
    } else {
      // Vectors that share a node may differ by this rounding.
      roundWords(counterpart, F32_IDENTITY_DROPPED_BITS);
    }
    let square = 0;
    for (let i = 0; i < vector.length; i++) {
      square += offsetAt(vector, counterpart, i) ** 2;
      vector[i] = float32At(vector, i) + 0; // -0 becomes 0
    }
    this.error = Math.sqrt(square) * (this.scalarKind === ScalarKind.F32 ? 2 : 1);
  }

  #putScaled(vector: Float32Array, norm: number, out: IndexVector, at: number): boolean {
    const { center, scale } = this.fit;
    for (let i = 0; i < center.length; i++)
      if (Math.abs(offsetAt(center, vector, i)) > COMPONENT_MAX * scale) return false;
    if (out instanceof Int8Array) this.#putWhole(vector, norm, out, at);
    else if (center.length > 0)
      for (let i = 0; i < vector.length; i++) out[at + i] = offsetAt(center, vector, i) / scale;
    else for (let i = 0; i < vector.length; i++) out[at + i] = norm === 0 ? 0 : float32At(vector, i) / norm;
    return true;
  }

  /**
   * Rounds to whole numbers. Clipping does not count as an error: the error of one clipped vector
   * would widen the bound for all.
   */
  #putWhole(vector: Float32Array, norm: number, out: Int8Array, at: number): void {
    const { center, scale } = this.fit;
    const isCentered = center.length > 0;
    const whole = isCentered ? scale : maxComponent(vector);
    const factor = whole === 0 ? 0 : I8_MAX / whole;
    let square = 0;
    for (let i = 0; i < vector.length; i++) {
      const component = (isCentered ? offsetAt(center, vector, i) : float32At(vector, i)) * factor;
      const rounded = Math.round(component);
      square += (component - rounded) ** 2;
      out[at + i] = Math.max(-I8_MAX, Math.min(I8_MAX, rounded));
    }
    const length = isCentered ? I8_MAX : norm * factor;
    this.error = length === 0 ? 0 : Math.sqrt(square) / length;
  }
}

/** Drops the last `dropped` bits of each component, rounding half to even. */
function roundWords(vector: Float32Array, dropped: number): void {
  const words = new Uint32Array(vector.buffer, vector.byteOffset, vector.length);
  const half = 2 ** (dropped - 1) - 1;
  for (let i = 0; i < words.length; i++) {
    const word = uint32At(words, i);
    words[i] = ((word + half + ((word >>> dropped) & 1)) >>> dropped) << dropped;
  }
}

function maxComponent(vector: Float32Array): number {
  let most = 0;
  for (let i = 0; i < vector.length; i++) most = Math.max(most, Math.abs(float32At(vector, i)));
  return most;
}
