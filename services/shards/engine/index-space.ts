/**
 * Where the graph index measures distances: turns every metric into one that the index handles well
 * at low precision, with the same order of neighbours. Exact scores are worked out afterwards from
 * the float32 vectors.
 *
 * How it fails: a vector that does not fit the space is refused (`put` gives false, `query` null).
 * See docs/internals/search.md.
 */
import { MetricKind, ScalarKind } from 'usearch';
import type { Metric, Quantization } from '../../../lib/store/catalog.ts';
import { forEachBit } from './bitmap.ts';
import { squareOf } from './kernel/similarity-kernel.ts';
import type { Slots } from './slots.ts';

const SAMPLE_MAX_SLOTS = 4096;
/** Of the norms that fit for dot, the greatest over the least. */
const NORM_RATIO_MAX = 3;
/** A little room for vectors longer than those of now. */
const NORM_HEADROOM = 1.05;
const I8_MAX = 127;
/**
 * Euclidean `i8` spends its range on components up to this many standard deviations and clips the
 * few beyond.
 */
const DEVIATIONS_MAX = 4;
/**
 * Components beyond this many times the scale do not fit: float16 and sums of squares would
 * overflow.
 */
const COMPONENT_MAX = 1000;

/** What a space was fitted to; enough to make it again. */
export interface SpaceFit {
  /** euclidean: components taken off, else empty. */
  center: Float32Array;
  /** euclidean: divisor of components; dot: M; else 1. */
  scale: number;
}

export type IndexVector = Float32Array | Int8Array;

/**
 * What a vector's components are in the index. `rounding`: the relative error of one, rounded to
 * the nearest as usearch does; f32 stands for that of sums as well.
 */
const SCALARS: Record<Quantization, { kind: ScalarKind; bytes: number; rounding: number }> = {
  bf16: { kind: ScalarKind.BF16, bytes: 2, rounding: 2 ** -8 },
  f32: { kind: ScalarKind.F32, bytes: 4, rounding: 2 ** -18 },
  f16: { kind: ScalarKind.F16, bytes: 2, rounding: 2 ** -11 },
  i8: { kind: ScalarKind.I8, bytes: 1, rounding: Number.POSITIVE_INFINITY },
};

export class IndexSpace {
  readonly fit: SpaceFit;
  readonly metricKind: MetricKind;
  readonly scalarKind: ScalarKind;
  /** Components of a vector in the index. */
  readonly dimensions: number;
  /** Bytes of a vector's components in the index. */
  readonly vectorBytes: number;
  readonly #metric: Metric;
  readonly #rounding: number;

  constructor(metric: Metric, quantization: Quantization, dimensions: number, fit: SpaceFit) {
    this.fit = fit;
    this.#metric = metric;
    const { kind, bytes, rounding } = SCALARS[metric === 'dot' && quantization !== 'f32' ? 'f16' : quantization];
    this.scalarKind = kind;
    this.#rounding = rounding;
    this.dimensions = metric === 'dot' ? dimensions + 1 : dimensions;
    this.vectorBytes = this.dimensions * bytes;
    if (metric === 'euclidean') this.metricKind = MetricKind.L2sq;
    else this.metricKind = this.scalarKind === ScalarKind.I8 ? MetricKind.Cos : MetricKind.IP;
  }

  /** How many times more candidates a search needs than by the cosine of a precise scalar kind. */
  get candidateFactor(): number {
    if (this.scalarKind === ScalarKind.I8) return 2;
    return this.#metric === 'dot' ? 1.5 : 1;
  }

  /**
   * The greatest distance in the index of a vector that may in truth be no farther than another one
   * that has `distance` there; infinite where precision is too low to say. A stored component is
   * off by no more than `rounding` of itself, so that the distance to a vector x is off by no more
   * than `rounding` times (|x| + |query|).
   */
  reach(distance: number, query: IndexVector): number {
    const rounding = this.#rounding;
    // Of unit vectors the inner product is off by twice the rounding, for each of the two that are
    // compared.
    if (this.metricKind !== MetricKind.L2sq) return distance + 4 * rounding;
    if (rounding === Number.POSITIVE_INFINITY) return rounding;
    const length = Math.sqrt(squareOf(query as Float32Array));
    const away = Math.sqrt(Math.max(0, distance));
    return (away + 4 * rounding * (length + away)) ** 2;
  }

  /** An array for `count` vectors of the index. */
  allocate(count: number): IndexVector {
    const length = count * this.dimensions;
    return this.scalarKind === ScalarKind.I8 ? new Int8Array(length) : new Float32Array(length);
  }

  /**
   * Writes a record's vector, as the index wants it, to row `row` of `out`; false, writing nothing,
   * when it does not fit.
   */
  put(vector: Float32Array, norm: number, out: IndexVector, row: number): boolean {
    const at = row * this.dimensions;
    if (this.#metric === 'dot') {
      if (norm > this.fit.scale || norm * NORM_RATIO_MAX < this.fit.scale) return false;
      for (let i = 0; i < vector.length; i++) out[at + i] = vector[i] / this.fit.scale;
      out[at + vector.length] = Math.sqrt(1 - (norm / this.fit.scale) ** 2);
      return true;
    }
    return this.#putScaled(vector, norm, out, at);
  }

  /** A query's vector as the index wants it; null when it does not fit. */
  query(vector: Float32Array, norm: number): IndexVector | null {
    const out = this.allocate(1);
    if (this.#metric !== 'dot') return this.#putScaled(vector, norm, out, 0) ? out : null;
    for (let i = 0; i < vector.length; i++) out[i] = norm === 0 ? 0 : vector[i] / norm;
    return out;
  }

  #putScaled(vector: Float32Array, norm: number, out: IndexVector, at: number): boolean {
    const { center, scale } = this.fit;
    for (let i = 0; i < center.length; i++) if (Math.abs(vector[i] - center[i]) > COMPONENT_MAX * scale) return false;
    if (out instanceof Int8Array) {
      const whole = center.length > 0 ? scale : maxComponent(vector);
      const factor = whole === 0 ? 0 : I8_MAX / whole;
      for (let i = 0; i < vector.length; i++) {
        const component = center.length > 0 ? vector[i] - center[i] : vector[i];
        out[at + i] = Math.max(-I8_MAX, Math.min(I8_MAX, Math.round(component * factor)));
      }
    } else if (center.length > 0) {
      for (let i = 0; i < vector.length; i++) out[at + i] = (vector[i] - center[i]) / scale;
    } else {
      for (let i = 0; i < vector.length; i++) out[at + i] = norm === 0 ? 0 : vector[i] / norm;
    }
    return true;
  }
}

/** Fits a space to the live records of a shard. */
export function fitSpace(metric: Metric, slots: Slots): SpaceFit {
  const none = new Float32Array(0);
  if (metric === 'cosine') return { center: none, scale: 1 };
  const sample: number[] = [];
  const stride = Math.max(1, Math.floor(slots.end / SAMPLE_MAX_SLOTS));
  if (metric === 'dot') return { center: none, scale: usualNorm(slots) };
  for (let slot = 0; slot < slots.end; slot += stride) if (slots.live.has(slot)) sample.push(slot);
  const sums = new Float64Array(slots.dimensions);
  for (const slot of sample) {
    const vector = slots.vector(slot);
    for (let i = 0; i < sums.length; i++) sums[i] += vector[i];
  }
  const center = Float32Array.from(sums, (sum) => sum / Math.max(1, sample.length));
  let greatest = 0;
  let squares = 0;
  for (const slot of sample) {
    const vector = slots.vector(slot);
    for (let i = 0; i < center.length; i++) {
      const component = Math.abs(vector[i] - center[i]);
      greatest = Math.max(greatest, component);
      squares += component * component;
    }
  }
  const deviation = Math.sqrt(squares / Math.max(1, sample.length * center.length));
  const scale = Math.min(greatest, DEVIATIONS_MAX * deviation);
  return { center, scale: scale === 0 ? 1 : scale };
}

/** The M, with some headroom, that most vectors fit with; the greatest of several. */
function usualNorm(slots: Slots): number {
  const norms = new Float64Array(slots.liveCount);
  let count = 0;
  forEachBit(slots.live.words, (slot) => {
    norms[count++] = slots.norm(slot);
  });
  norms.sort();
  let usual = 0;
  let most = 0;
  let first = 0;
  for (let last = 0; last < count; last++) {
    const norm = norms[last] * NORM_HEADROOM;
    while (norms[first] * NORM_RATIO_MAX < norm) first++;
    if (last - first + 1 < most) continue;
    most = last - first + 1;
    usual = norm;
  }
  return usual === 0 ? 1 : usual;
}

function maxComponent(vector: Float32Array): number {
  let most = 0;
  for (let i = 0; i < vector.length; i++) most = Math.max(most, Math.abs(vector[i]));
  return most;
}
