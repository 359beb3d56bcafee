import { itemAt } from '../../lib/checked-access.ts';

/** Looked up once, because each use of a jest global is a slow lookup. */
const { cos, floor, imul, log, PI, sqrt } = Math;

/**
 * Returns a generator of numbers in [0, 1) from a seed (mulberry32), so that a failing test can be
 * replayed.
 */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Vectors around `clusters` centres, in one flat array. The standard deviation is 0.35, with
 * centres of standard deviation 1; lengths vary.
 */
export function clusteredVectors(
  random: () => number,
  count: number,
  dimensions: number,
  clusters: number,
): Float32Array {
  const gauss = () => sqrt(-2 * log(1 - random())) * cos(2 * PI * random());
  const centers = Array.from({ length: clusters }, () => Float64Array.from({ length: dimensions }, gauss));
  const vectors = new Float32Array(count * dimensions);
  for (let i = 0; i < count; i++) {
    const center = itemAt(centers, floor(random() * clusters));
    const length = 0.25 + 2 * random();
    for (let d = 0; d < dimensions; d++) vectors[i * dimensions + d] = length * (itemAt(center, d) + 0.35 * gauss());
  }
  return vectors;
}
