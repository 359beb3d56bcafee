import { describe, expect, test } from '@jest/globals';
import type { Metric, Quantization } from '../../../../../lib/store/catalog.ts';
import { Graph } from '../../../../../services/shards/engine/graph.ts';
import { IndexSpace } from '../../../../../services/shards/engine/index-space.ts';
import { squareOf } from '../../../../../services/shards/engine/kernel/similarity-kernel.ts';
import { randomFrom } from '../../../../support/random.ts';
import { seed } from '../../../../support/seed.ts';

const RECORDS = 400;
const QUERIES = 20;
const METRICS: Metric[] = ['cosine', 'euclidean', 'dot'];
const QUANTIZATIONS: Quantization[] = ['bf16', 'f16', 'f32'];

/**
 * How the vectors of a shard may lie: all over the place, close together, and along the axes, where
 * rounding errors do not cancel out.
 */
const SHAPES: Record<string, (random: () => number, row: number, at: number) => number> = {
  scattered: (random) => random() - 0.5,
  near: (random, _, at) => 1 + Math.sin(at) + random() * 1e-3,
  axes: (random, row, at) => (at === row % 3 ? 1 + random() / 50 : random() * 1e-3),
};

function far(metric: Metric, query: Float32Array, vector: Float32Array): number {
  let dot = 0;
  let squares = 0;
  for (let i = 0; i < query.length; i++) {
    dot += query[i]! * vector[i]!;
    squares += (query[i]! - vector[i]!) ** 2;
  }
  if (metric === 'euclidean') return Math.sqrt(squares);
  return -dot / (metric === 'cosine' ? Math.sqrt(squareOf(vector)) : 1);
}

describe.each(METRICS)('%s', (metric) => {
  describe.each(QUANTIZATIONS)('%s', (quantization) => {
    test.each(Object.keys(SHAPES))('%s vectors: whatever is nearer than another lies within reach of it', (shape) => {
      const random = randomFrom(seed);
      const dimensions = 8;
      const make = (row: number) =>
        Float32Array.from({ length: dimensions }, (_, at) => SHAPES[shape]!(random, row, at));
      const vectors = Array.from({ length: RECORDS }, (_, row) => make(row));
      const longest = Math.max(...vectors.map((vector) => Math.sqrt(squareOf(vector))));
      const center = metric === 'euclidean' ? new Float32Array(dimensions).fill(0.1) : new Float32Array(0);
      const graph = new Graph(new IndexSpace(metric, quantization, dimensions, { center, scale: longest }));
      const source = {
        vector: (slot: number) => vectors[slot]!,
        norm: (slot: number) => Math.sqrt(squareOf(vectors[slot]!)),
      };
      for (let slot = 0; slot < RECORDS; slot++) graph.insert(slot);
      while (graph.addSlice(source, 64, 1));
      expect(graph.nodes).toBeGreaterThan(RECORDS / 4);
      let beyond = 0;
      for (let at = 0; at < QUERIES; at++) {
        const query = make(at);
        const asked = graph.space.query(query, Math.sqrt(squareOf(query)))!;
        const { slots, distances } = graph.search(asked, RECORDS, () => true);
        const found = Array.from(slots, (slot, i) => ({
          truth: far(metric, query, vectors[slot]!),
          distance: distances[i]!,
        }));
        found.sort((a, b) => a.truth - b.truth);
        let farthest = Number.NEGATIVE_INFINITY;
        for (const { distance } of found) {
          farthest = Math.max(farthest, distance);
          if (graph.space.reach(distance, asked) < farthest) beyond++;
        }
      }
      expect(beyond).toBe(0);
    });
  });
});
