/**
 * Recall on the real embeddings in the repository, compared with a plain scan by independent code.
 * `search-debian` covers all 61,666 embeddings.
 */
import { expect, test } from '@jest/globals';
import { debianSample } from '../../../../../examples/debian-sample.ts';
import type { ShardMatch } from '../../../../../lib/shard/match.ts';
import { type EngineOptions, Shard } from '../../../../../services/shards/engine/shard.ts';
import { invariant } from '../../../../support/invariant.ts';
import {
  Model,
  queryIn,
  queryWith,
  recallOf,
  settle,
  specWith,
  upsertOf,
  write,
} from '../../../../support/shard-engine.ts';

const RECALL_MIN = 0.98;
const QUERIES = 40;
const FILTERS = [
  null,
  { section: 'database' },
  { section: { $in: ['net', 'web', 'mail', 'httpd'] } },
  { depends: { $gt: 10 } },
  { $or: [{ tags: { $exists: true } }, { installedKiB: { $lt: 200 } }] },
  { section: 'rust' },
];

const packages = debianSample();
const spec = specWith({ dimensions: packages[0].values.length });
const upsert = upsertOf(
  packages.map(({ id, values, metadata }) => [id, { values, metadata }]),
  spec.dimensions,
);
const model = new Model(spec);
model.apply(upsert);
const asked = Array.from({ length: QUERIES }, (_, i) => packages[(i * packages.length) / QUERIES].values);
const truth = FILTERS.map((filter) => asked.map((vector) => model.query(queryWith(vector, { filter }))));

test.each<[string, EngineOptions]>([
  ['with default settings', {}],
  ['through the graph alone', { scanCostFactor: 1_000 }],
])('%s: recall@10 with and without filters, and never a short answer', async (_name, options) => {
  const shard = new Shard(spec, options);
  write(shard, upsert);
  settle(shard);
  for (const [at, filter] of FILTERS.entries()) {
    let recall = 0;
    for (const [i, vector] of asked.entries()) {
      const found = queryIn(shard, queryWith(vector, { filter }));
      const best = truth[at][i] as ShardMatch[];
      await invariant('a filtered query gives all there is', () => expect(found).toHaveLength(best.length));
      expect(found[0].score).toBeCloseTo(best[0].score, 6);
      recall += recallOf(found, best) / QUERIES;
    }
    expect({ filter, isRecalled: recall >= RECALL_MIN, recall }).toMatchObject({ isRecalled: true });
  }
});

test('an exact query equals the plain scan, scores to 1e-6', () => {
  const shard = new Shard(spec);
  write(shard, upsert);
  settle(shard);
  for (const [at, filter] of FILTERS.entries())
    for (const [i, vector] of asked.entries()) {
      const found = queryIn(shard, queryWith(vector, { filter, exact: true }));
      expect(found.map(({ id }) => id)).toEqual(truth[at][i].map(({ id }) => id));
      found.forEach(({ score }, n) => {
        expect(score).toBeCloseTo(truth[at][i][n].score, 6);
      });
    }
});
