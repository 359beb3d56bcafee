import { describe, expect, test } from '@jest/globals';
import type { Metric, Quantization } from '../../../../../lib/records/metric.ts';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { isThorough } from '../../../../support/effort.ts';
import { clusteredVectors, randomFrom } from '../../../../support/random.ts';
import {
  queryIn,
  queryWith,
  recallOf,
  settle,
  specWith,
  type TestRecord,
  upsertOf,
  write,
} from '../../../../support/shard-engine.ts';

const RECALL_MIN = 0.99;
/** 8 bits per component cannot distinguish close vectors in a wide space. */
const EUCLIDEAN_I8_RECALL_MIN = 0.96;

/** A shard with the first `count` vectors of a flat array in its graph. */
function indexed(spec: Parameters<typeof specWith>[0] & { dimensions: number }, vectors: Float32Array, count: number) {
  const { dimensions } = spec;
  const shard = new Shard(specWith(spec), { scanCostFactor: 100 });
  for (let from = 0; from < count; from += 1_000) {
    const records = Array.from({ length: 1_000 }, (_, i): [string, TestRecord] => {
      const values = [...vectors.subarray((from + i) * dimensions, (from + i + 1) * dimensions)];
      return [`r${from + i}`, { values, metadata: { tenth: (from + i) % 10 === 0, part: (from + i) % 3 } }];
    });
    write(shard, upsertOf(records, dimensions));
  }
  settle(shard);
  return shard;
}

/**
 * Random vectors in clusters, with lengths from 0.25 to 2.25, shifted from the origin by `offset`.
 */
function generated(metric: Metric, quantization: Quantization, offset: number) {
  const [count, dimensions, queries] = [6_000, 32, 60];
  const vectors = clusteredVectors(randomFrom(3), count + queries, dimensions, 60).map((value) => value + offset);
  const shard = indexed({ dimensions, metric, quantization }, vectors, count);
  const vectorsAsked = Array.from({ length: queries }, (_, i) =>
    vectors.subarray((count + i) * dimensions, (count + i + 1) * dimensions),
  );
  return { shard, vectorsAsked };
}

const KINDS: [Metric, Quantization, number][] = [
  ['cosine', 'bf16', 0],
  ['euclidean', 'bf16', 500],
  ['dot', 'i8', 0],
];
const OTHER_KINDS: [Metric, Quantization, number][] = [
  ['cosine', 'i8', 0],
  ['cosine', 'f16', 0],
  ['euclidean', 'bf16', 0],
  ['euclidean', 'i8', 500],
  ['euclidean', 'f16', 1e6],
  ['dot', 'bf16', 0],
  ['dot', 'f32', 0],
];

describe('generated clusters', () => {
  test.each([...KINDS, ...(isThorough ? OTHER_KINDS : [])])(
    '%s as %s, offset %d: recall of the graph',
    (metric, quantization, offset) => {
      const { shard, vectorsAsked } = generated(metric, quantization, offset);
      for (const filter of [null, { tenth: true }, { part: { $ne: 0 } }]) {
        let recall = 0;
        for (const vector of vectorsAsked) {
          const query = queryWith(vector, { filter });
          const found = queryIn(shard, query);
          expect(found).toHaveLength(10);
          recall += recallOf(found, queryIn(shard, { ...query, exact: true })) / vectorsAsked.length;
        }
        const coarse = metric === 'euclidean' && quantization === 'i8';
        expect(recall).toBeGreaterThanOrEqual(coarse ? EUCLIDEAN_I8_RECALL_MIN : RECALL_MIN);
      }
    },
  );
});

describe('few dimensions', () => {
  test.each([1, 2, 3])('queries from far outside of a few tight clusters (seed %i)', (seed) => {
    const [count, dimensions, queries] = [6_000, 16, 300];
    const random = randomFrom(seed);
    const vectors = clusteredVectors(random, count, dimensions, 12);
    const shard = indexed({ dimensions }, vectors, count);
    let recall = 0;
    for (let asked = 0; asked < queries; asked++) {
      const query = queryWith(Float32Array.from({ length: dimensions }, () => random() - 0.5));
      recall += recallOf(queryIn(shard, query), queryIn(shard, { ...query, exact: true })) / queries;
    }
    expect(recall).toBeGreaterThanOrEqual(RECALL_MIN);
  });
});

describe('dot products of vectors with very different lengths', () => {
  const { cos, log, PI, sqrt } = Math;
  const gauss = (random: () => number) => sqrt(-2 * log(1 - random())) * cos(2 * PI * random());
  test.each<[string, (random: () => number) => number]>([
    ['one in fifty is fifty times as long', (random) => (random() < 0.02 ? 50 : 1)],
    ['one in ten is ten times as long', (random) => (random() < 0.1 ? 10 : 1)],
    ['one in two hundred is a thousand times as long', (random) => (random() < 0.005 ? 1_000 : 1)],
    ['log-normal', (random) => Math.exp(1.2 * gauss(random))],
  ])('%s: recall of the graph, even after much of it was replaced', (_, lengthOf) => {
    const [count, dimensions, queries] = [3_000, 32, 40];
    const random = randomFrom(5);
    const shard = new Shard(specWith({ dimensions, metric: 'dot' }), { scanCostFactor: 100 });
    const put = (numbers: number[]) => {
      const records = numbers.map((number): [string, TestRecord] => {
        const length = lengthOf(random);
        const values = Array.from({ length: dimensions }, () => Math.fround(length * gauss(random)));
        return [`r${number}`, { values, metadata: { part: number % 3 } }];
      });
      write(shard, upsertOf(records, dimensions));
      settle(shard);
    };
    const numbers = Array.from({ length: count }, (_, number) => number);
    put(numbers);
    for (let round = 0; round < 4; round++) put(numbers.filter(() => random() < 0.15));
    for (const changes of [{}, { topK: 100 }, { filter: { part: { $ne: 0 } } }]) {
      let recall = 0;
      for (let i = 0; i < queries; i++) {
        const vector = Array.from({ length: dimensions }, () => gauss(random));
        const query = queryWith(vector, changes);
        recall += recallOf(queryIn(shard, query), queryIn(shard, { ...query, exact: true })) / queries;
      }
      expect(recall).toBeGreaterThanOrEqual(RECALL_MIN);
    }
  });
});
