import { describe, expect, test } from '@jest/globals';
import type { Metric, Quantization } from '../../../../../lib/records/metric.ts';
import { Candidates } from '../../../../../services/shards/engine/candidates.ts';
import { Graph } from '../../../../../services/shards/engine/graph.ts';
import { IndexSpace } from '../../../../../services/shards/engine/index-space.ts';
import { sumOfSquares } from '../../../../../services/shards/engine/kernel/similarity-kernel.ts';
import { randomFrom } from '../../../../support/random.ts';
import { seed } from '../../../../support/seed.ts';

const RECORDS = 400;
const QUERIES = 20;
const METRICS: Metric[] = ['cosine', 'euclidean', 'dot'];
const QUANTIZATIONS: Quantization[] = ['bf16', 'f16', 'f32', 'i8'];
const BATCH = 8;

/**
 * Distributions of a shard's vectors: scattered, close together, and along the axes, where rounding
 * errors do not cancel out.
 */
const SHAPES: Record<string, (random: () => number, row: number, at: number) => number> = {
  scattered: (random) => random() - 0.5,
  near: (random, _, at) => 1 + Math.sin(at) + random() * 1e-3,
  axes: (random, row, at) => (at === row % 3 ? 1 + random() / 50 : random() * 1e-3),
};

function closenessOf(metric: Metric, query: Float32Array, vector: Float32Array): number {
  let dot = 0;
  let squares = 0;
  for (let i = 0; i < query.length; i++) {
    dot += query[i]! * vector[i]!;
    squares += (query[i]! - vector[i]!) ** 2;
  }
  if (metric === 'euclidean') return -Math.sqrt(squares);
  return metric === 'cosine' ? dot / Math.sqrt(sumOfSquares(vector) * sumOfSquares(query)) : dot;
}

describe.each(METRICS)('%s', (metric) => {
  describe.each(QUANTIZATIONS)('%s', (quantization) => {
    test.each(Object.keys(SHAPES))(
      '%s vectors: what is beyond reach of the ten best so far is not among the ten best',
      (shape) => {
        const random = randomFrom(seed);
        const dimensions = 8;
        const make = (row: number) =>
          Float32Array.from({ length: dimensions }, (_, at) => SHAPES[shape]!(random, row, at));
        const vectors = Array.from({ length: RECORDS }, (_, row) => make(row));
        const longest = Math.max(...vectors.map((vector) => Math.sqrt(sumOfSquares(vector))));
        const center = metric === 'euclidean' ? new Float32Array(dimensions).fill(0.1) : new Float32Array(0);
        const graph = new Graph(new IndexSpace(metric, quantization, dimensions, { center, scale: longest }));
        const source = {
          vector: (slot: number) => vectors[slot]!,
          norm: (slot: number) => Math.sqrt(sumOfSquares(vectors[slot]!)),
        };
        for (let slot = 0; slot < RECORDS; slot++) graph.insert(slot);
        while (graph.addSlice(source, 64, 1));
        expect(graph.tail.length).toBeLessThan((RECORDS * 3) / 4);
        const held = vectors.filter((_, slot) => !graph.tail.includes(slot));
        let missed = 0;
        let decided = 0;
        for (let at = 0; at < QUERIES; at++) {
          const query = make(at);
          const length = Math.sqrt(sumOfSquares(query));
          const asked = graph.space.query(query, length)!;
          const candidates = new Candidates(graph, graph.search(asked.vector, RECORDS), asked, length);
          const batch = new Uint32Array(BATCH);
          const seen: number[] = [];
          const tenth = () => (seen.length < 10 ? Number.NEGATIVE_INFINITY : seen.sort((a, b) => b - a)[9]!);
          while (!candidates.isDone && !candidates.isBeyond(tenth()))
            for (const slot of batch.subarray(
              0,
              candidates.fill(batch, BATCH, () => true),
            ))
              seen.push(closenessOf(metric, query, vectors[slot]!));
          // Otherwise a search requests more candidates, or scans.
          if (!candidates.isBeyond(tenth())) continue;
          decided++;
          const all = held.map((vector) => closenessOf(metric, query, vector));
          const floor = tenth();
          missed += all.filter((one) => one > floor).length - seen.filter((one) => one > floor).length;
        }
        expect(missed).toBe(0);
        expect(decided).toBeGreaterThan(0);
      },
    );
  });
});
