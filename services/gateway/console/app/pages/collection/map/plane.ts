/** Vectors as points of a plane: along their principal axes, or along two random ones. */

export type PlaneMethod = 'principal' | 'random';

export interface Plane {
  /** Two numbers for each vector. */
  points: Float32Array;
  /** Share of the variance along each of the two axes. */
  shares: readonly [number, number];
}

/** Vectors one after another, each of `dimensions` numbers. */
export interface VectorRows {
  values: Float32Array;
  dimensions: number;
}

/** Axes that are refined together: two more than are needed make the first two settle sooner. */
const BLOCK = 4;
const ROUNDS_MAX = 40;
/** Relative change of the variances below which the axes count as settled. */
const SETTLED = 1e-6;
const SEED = 0x70726f76;

/** Scales each vector to length 1. Changes the values. */
export function normalise({ values, dimensions }: VectorRows): void {
  for (let start = 0; start < values.length; start += dimensions) {
    let sum = 0;
    for (let at = start; at < start + dimensions; at++) sum += values[at]! ** 2;
    const length = Math.sqrt(sum);
    if (length > 0) for (let at = start; at < start + dimensions; at++) values[at]! /= length;
  }
}

/** Returns the vectors in a plane through their mean. Changes the values. */
export function planeOf(rows: VectorRows, method: PlaneMethod, report: (share: number) => void): Plane {
  const total = centre(rows);
  const axes = method === 'principal' ? principalAxes(rows, report) : randomAxes(rows.dimensions, 2);
  const [first, second] = [axes[0]!, axes[1] ?? new Float64Array(rows.dimensions)];
  const { values, dimensions } = rows;
  const count = values.length / dimensions;
  const points = new Float32Array(count * 2);
  const variances: [number, number] = [0, 0];
  for (let row = 0; row < count; row++)
    for (const [at, axis] of [first, second].entries()) {
      const place = dot(values, row * dimensions, axis);
      points[row * 2 + at] = place;
      variances[at]! += place * place;
    }
  const shareOf = (variance: number) => (total === 0 ? 0 : variance / total);
  return { points, shares: [shareOf(variances[0]), shareOf(variances[1])] };
}

/** Moves the mean to zero, and returns the sum of all squares then. */
function centre({ values, dimensions }: VectorRows): number {
  const mean = new Float64Array(dimensions);
  const count = values.length / dimensions;
  for (let at = 0; at < values.length; at++) mean[at % dimensions]! += values[at]! / count;
  let total = 0;
  for (let at = 0; at < values.length; at++) {
    values[at]! -= mean[at % dimensions]!;
    total += values[at]! ** 2;
  }
  return total;
}

/** Returns the axes of most variance, by iteration on a block of them. */
function principalAxes(rows: VectorRows, report: (share: number) => void): Float64Array[] {
  const count = Math.min(BLOCK, rows.dimensions);
  let axes = randomAxes(rows.dimensions, count);
  let before = 0;
  for (let round = 1; ; round++) {
    const { images, products } = imagesOf(rows, axes);
    const { values, vectors } = eigenOf(products);
    const size = values[0]! + (values[1] ?? 0);
    const isSettled = Math.abs(size - before) <= SETTLED * size;
    if (isSettled || round === ROUNDS_MAX)
      return vectors.slice(0, 2).map((weights) => pointingUp(combined(axes, weights)));
    before = size;
    axes = orthonormal(images);
    report(round / ROUNDS_MAX);
  }
}

/** Returns the axes after multiplication by the covariance, and their products with each other. */
function imagesOf({ values, dimensions }: VectorRows, axes: readonly Float64Array[]) {
  const images = axes.map(() => new Float64Array(dimensions));
  const products = axes.map(() => new Float64Array(axes.length));
  const places = new Float64Array(axes.length);
  for (let start = 0; start < values.length; start += dimensions) {
    for (const [index, axis] of axes.entries()) places[index] = dot(values, start, axis);
    for (const [index, image] of images.entries()) {
      const place = places[index]!;
      for (let at = 0; at < dimensions; at++) image[at]! += place * values[start + at]!;
      for (let other = 0; other < axes.length; other++) products[index]![other]! += place * places[other]!;
    }
  }
  return { images, products };
}

function dot(values: Float32Array, start: number, axis: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < axis.length; at++) sum += values[start + at]! * axis[at]!;
  return sum;
}

/** Turns vectors into unit vectors at right angles; those that depend on others become zero. */
function orthonormal(vectors: readonly Float64Array[]): Float64Array[] {
  const done: Float64Array[] = [];
  for (const vector of vectors) {
    const own = Float64Array.from(vector);
    const before = lengthOf(own);
    // Twice, since the first pass leaves rounding errors that grow from round to round.
    for (let pass = 0; pass < 2; pass++)
      for (const other of done) {
        const share = own.reduce((sum, value, at) => sum + value * other[at]!, 0);
        for (let at = 0; at < own.length; at++) own[at]! -= share * other[at]!;
      }
    const length = lengthOf(own);
    const scale = length > before * 1e-12 ? 1 / length : 0;
    done.push(own.map((value) => value * scale));
  }
  return done;
}

const lengthOf = (vector: Float64Array): number => Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));

const combined = (axes: readonly Float64Array[], weights: Float64Array): Float64Array =>
  axes[0]!.map((_, at) => axes.reduce((sum, axis, index) => sum + axis[at]! * weights[index]!, 0));

/** Picks one of an axis and its opposite, so that a map looks alike each time. */
function pointingUp(axis: Float64Array): Float64Array {
  const peak = axis.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);
  return peak < 0 ? axis.map((value) => -value) : axis;
}

/** Returns the eigenvalues of a small symmetric matrix, the largest first, by Jacobi rotations. */
function eigenOf(matrix: readonly Float64Array[]): { values: number[]; vectors: Float64Array[] } {
  const size = matrix.length;
  const a = matrix.map((row) => Float64Array.from(row));
  const v = a.map((_, at) => new Float64Array(size).fill(1, at, at + 1));
  for (let sweep = 0; sweep < 32; sweep++)
    for (let p = 0; p < size; p++) for (let q = p + 1; q < size; q++) rotate(a, v, p, q);
  const order = a.map((_, at) => at).sort((left, right) => a[right]![right]! - a[left]![left]!);
  return { values: order.map((at) => a[at]![at]!), vectors: order.map((at) => v[at]!) };
}

/** Makes one element off the diagonal zero; `v` has the eigenvectors as rows. */
function rotate(a: Float64Array[], v: Float64Array[], p: number, q: number): void {
  const off = a[p]![q]!;
  if (off === 0) return;
  const angle = 0.5 * Math.atan2(2 * off, a[q]![q]! - a[p]![p]!);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  for (const row of a) [row[p], row[q]] = [c * row[p]! - s * row[q]!, s * row[p]! + c * row[q]!];
  for (const rows of [a, v]) {
    const [one, other] = [rows[p]!, rows[q]!];
    for (let at = 0; at < one.length; at++)
      [one[at], other[at]] = [c * one[at]! - s * other[at]!, s * one[at]! + c * other[at]!];
  }
}

/** Returns axes in random directions, the same ones each time. */
function randomAxes(dimensions: number, count: number): Float64Array[] {
  const random = generator(SEED);
  const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return orthonormal(Array.from({ length: count }, () => new Float64Array(dimensions).map(gaussian)));
}

/** Mulberry32: numbers from 0 to 1. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
