import { describe, expect, test } from '@jest/globals';
import { LIMITS } from '../../../../../lib/limits.ts';
import type { Metric } from '../../../../../lib/records/metric.ts';
import { Scorer } from '../../../../../services/shards/engine/scorer.ts';
import { Slots } from '../../../../../services/shards/engine/slots.ts';
import { randomFrom } from '../../../../support/random.ts';
import { seed } from '../../../../support/seed.ts';

const METRICS: Metric[] = ['cosine', 'euclidean', 'dot'];
/** Around the eight numbers that are processed at a time, and the maximum. */
const DIMENSIONS = [1, 2, 7, 8, 9, 15, 16, 17, 384, LIMITS.dimensionsMax];
const RECORDS = 70;

function filled(dimensions: number, vectors: Float32Array[]): Slots {
  const slots = new Slots(dimensions);
  vectors.forEach((vector, at) => {
    slots.makeLive(slots.allocate(Buffer.from(`r${at}`), vector, Buffer.from('{}'), 1));
  });
  return slots;
}

/** Computes the score by its definition, number by number. */
function expected(metric: Metric, query: Float32Array, vector: Float32Array): number {
  const sum = (term: (a: number, b: number) => number) => query.reduce((total, a, i) => total + term(a, vector[i]!), 0);
  if (metric === 'dot') return sum((a, b) => a * b);
  if (metric === 'euclidean') return 1 / (1 + Math.sqrt(sum((a, b) => (a - b) ** 2)));
  const lengths = Math.sqrt(sum((a) => a * a)) * Math.sqrt(sum((_, b) => b * b));
  return lengths === 0 ? 0 : sum((a, b) => a * b) / lengths;
}

function scoresOf(scorer: Scorer, slots: number[]): number[] {
  const scores: number[] = [];
  for (let from = 0; from < slots.length; from += scorer.batchMax) {
    const batch = Uint32Array.from(slots.slice(from, from + scorer.batchMax));
    scores.push(
      ...Array.from(scorer.closeness(batch, batch.length).subarray(0, batch.length), (each) => scorer.scoreOf(each)),
    );
  }
  return scores;
}

describe.each(METRICS)('%s', (metric) => {
  test.each(DIMENSIONS)('of %d dimensions matches the definition', (dimensions) => {
    const random = randomFrom(seed);
    const make = () => Float32Array.from({ length: dimensions }, () => (random() - 0.5) * 10 ** (random() * 4 - 2));
    const vectors = Array.from({ length: RECORDS }, make);
    const query = make();
    const scores = scoresOf(new Scorer(metric, filled(dimensions, vectors), query), [...vectors.keys()]);
    scores.forEach((score, at) => {
      const wanted = expected(metric, query, vectors[at]!);
      // A sum of terms with both signs is only as exact as its largest terms.
      const scale = metric === 'dot' ? expected('dot', query.map(Math.abs), vectors[at]!.map(Math.abs)) : 1;
      expect(Math.abs(score - wanted)).toBeLessThanOrEqual(1e-12 * scale);
    });
  });

  test('is the same to the last bit however the record is reached', () => {
    const random = randomFrom(seed + 1);
    const vectors = Array.from({ length: RECORDS }, () => Float32Array.from({ length: 37 }, () => random() - 0.5));
    const slots = filled(37, vectors);
    const scorer = new Scorer(metric, slots, vectors[0]!);
    const all = [...vectors.keys()];
    const inOrder = scoresOf(scorer, all);
    const shuffled = all.toSorted((a, b) => ((a * 31) % RECORDS) - ((b * 31) % RECORDS));
    expect(scoresOf(scorer, shuffled)).toEqual(shuffled.map((slot) => inOrder[slot]));
    expect(all.flatMap((slot) => scoresOf(scorer, [slot]))).toEqual(inOrder);
  });

  test('of alternating queries do not mix', () => {
    const random = randomFrom(seed + 2);
    const vectors = Array.from({ length: RECORDS }, () => Float32Array.from({ length: 12 }, () => random() - 0.5));
    const slots = filled(12, vectors);
    const scorers = vectors.slice(0, 3).map((vector) => new Scorer(metric, slots, vector));
    const alone = scorers.map((scorer) => scoresOf(scorer, [...vectors.keys()]));
    for (const slot of vectors.keys())
      expect(scorers.map((scorer) => scoresOf(scorer, [slot])[0])).toEqual(alone.map((scores) => scores[slot]));
  });
});

test.each(DIMENSIONS)(
  'the cosine of equal vectors is 1, of opposite ones -1, to the last bit: %i dimensions',
  (dimensions) => {
    const random = randomFrom(seed + 3);
    const make = () => Float32Array.from({ length: dimensions }, () => (random() - 0.5) * 10 ** (random() * 4 - 2));
    const vectors = Array.from({ length: RECORDS }, make);
    const opposite = vectors.map((vector) => vector.map((value) => -value));
    const slots = filled(dimensions, [...vectors, ...opposite]);
    const own = vectors.map((vector, at) => scoresOf(new Scorer('cosine', slots, vector), [at, RECORDS + at]));
    expect(own).toEqual(vectors.map(() => [1, -1]));
  },
);

test('numbers at the limits of float32 neither overflow nor vanish', () => {
  const vectors = [3e38, -3e38, 1e-38, 0].map((value) => new Float32Array(9).fill(value));
  const slots = filled(9, vectors);
  expect(scoresOf(new Scorer('cosine', slots, vectors[0]!), [0, 1, 3])).toEqual([1, -1, 0]);
  expect(scoresOf(new Scorer('cosine', slots, vectors[2]!), [0, 2])).toEqual([1, 1]);
  const [product] = scoresOf(new Scorer('dot', slots, vectors[0]!), [1]);
  expect(product! / (-9 * Math.fround(3e38) ** 2)).toBeCloseTo(1, 12);
  const [closeness] = new Scorer('euclidean', slots, vectors[0]!).closeness(Uint32Array.of(1), 1);
  expect(closeness! / (-6 * Math.fround(3e38))).toBeCloseTo(1, 12);
});
