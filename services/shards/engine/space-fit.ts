/**
 * Fits a space of the graph index to the records of a shard: the center and the scale of euclidean
 * vectors, the maximum length M of vectors under dot. See docs/internals/search.md.
 */
import { float32At, float64At } from '../../../lib/checked-access.ts';
import type { Metric } from '../../../lib/records/metric.ts';
import { forEachBit } from './bitmap.ts';
import type { SlotView } from './slot-view.ts';

/** Maximum number of slots that the fit of a euclidean space reads. */
const SAMPLE_MAX_SLOTS = 4096;
/** Maximum ratio of the longest to the shortest norm (dot). */
export const NORM_RATIO_MAX = 3;
/** Headroom for longer vectors written later. */
export const NORM_HEADROOM = 1.05;
/** Range of euclidean `i8` components, in standard deviations. Larger components are clipped. */
const DEVIATIONS_MAX = 4;
/**
 * Minimum radius of a euclidean space, as a multiple of the median distance from the center. A
 * graph search rarely finds a vector far from all others, because hardly any node links to it.
 */
const RADIUS_MEDIANS = 4;
/** Maximum share of the sampled vectors that lie outside the radius. */
const FAR_SHARE_MAX = 0.02;

/** Parameters of a space; a checkpoint stores them to make the same space again. */
export interface SpaceFit {
  /** Center that is subtracted from euclidean vectors; empty for the other metrics. */
  center: Float32Array;
  /** euclidean: divisor of components; dot: M; cosine: 1. */
  scale: number;
  /**
   * Maximum distance from the center of euclidean vectors that fit. Absent in checkpoints of
   * earlier versions.
   */
  radius?: number;
  /**
   * How unequal the vectors are. euclidean: the distance from the center that a FAR_SHARE_MAX of
   * the vectors exceeds, divided by the median distance. dot: M divided by the median length.
   * Absent in checkpoints of earlier versions.
   */
  spread?: number;
}

/** Fits a space to the live records of a shard. */
export function fitSpace(metric: Metric, slots: SlotView): SpaceFit {
  if (metric === 'cosine') return { center: new Float32Array(0), scale: 1 };
  return metric === 'dot' ? fitNorms(slots) : fitAround(slots);
}

function fitAround(slots: SlotView): SpaceFit {
  const sample: number[] = [];
  const stride = Math.max(1, Math.floor(slots.end / SAMPLE_MAX_SLOTS));
  for (let slot = 0; slot < slots.end; slot += stride) if (slots.live.has(slot)) sample.push(slot);
  const center = centerOf(slots, sample);
  const distances = Float64Array.from(sample, (slot) => distanceTo(center, slots.vector(slot)));
  const sorted = distances.toSorted();
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const far = at(1 - FAR_SHARE_MAX);
  const radius = Math.max(RADIUS_MEDIANS * at(0.5), far);
  let greatest = 0;
  let squares = 0;
  let within = 0;
  for (const [i, slot] of sample.entries()) {
    const distance = float64At(distances, i);
    if (distance > radius) continue;
    within++;
    squares += distance ** 2;
    const vector = slots.vector(slot);
    for (let at = 0; at < center.length; at++) greatest = Math.max(greatest, Math.abs(offsetAt(center, vector, at)));
  }
  const deviation = Math.sqrt(squares / Math.max(1, within * center.length));
  const scale = Math.min(greatest, DEVIATIONS_MAX * deviation);
  return { center, scale: scale === 0 ? 1 : scale, radius, spread: far / (at(0.5) || far || 1) };
}

function centerOf(slots: SlotView, sample: readonly number[]): Float32Array {
  const sums = new Float64Array(slots.dimensions);
  for (const slot of sample) {
    const vector = slots.vector(slot);
    for (let i = 0; i < sums.length; i++) sums[i] = float64At(sums, i) + float32At(vector, i);
  }
  return Float32Array.from(sums, (sum) => sum / Math.max(1, sample.length));
}

/** Returns the distance of a vector from the center of a space. */
export function distanceTo(center: Float32Array, vector: Float32Array): number {
  let square = 0;
  for (let i = 0; i < center.length; i++) square += offsetAt(center, vector, i) ** 2;
  return Math.sqrt(square);
}

/** Returns how far a component is from the center's. */
export function offsetAt(center: Float32Array, vector: Float32Array, i: number): number {
  return float32At(vector, i) - float32At(center, i);
}

/** Fits M, with some headroom, to as many vectors as possible. On a tie, takes the greatest M. */
function fitNorms(slots: SlotView): SpaceFit {
  const norms = new Float64Array(slots.liveCount);
  let count = 0;
  forEachBit(slots.live.words, (slot) => {
    norms[count++] = slots.norm(slot);
  });
  norms.sort();
  let scale = 0;
  let median = 0;
  let most = 0;
  let first = 0;
  for (let last = 0; last < count; last++) {
    const norm = float64At(norms, last) * NORM_HEADROOM;
    while (float64At(norms, first) * NORM_RATIO_MAX < norm) first++;
    if (last - first + 1 < most) continue;
    most = last - first + 1;
    scale = norm;
    median = float64At(norms, (first + last) >>> 1);
  }
  const center = new Float32Array(0);
  return scale === 0 ? { center, scale: 1 } : { center, scale, spread: scale / median };
}
