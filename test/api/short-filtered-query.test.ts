/** Seen in earlier systems: the index finds topK records, and filtering those leaves only a few. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { call } from '../../contracts/actions/call.ts';
import { isThorough } from '../support/effort.ts';
import { clusteredVectors, randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Enough for an index in each of two shards. */
const COUNT = 4_500;
const DIMENSIONS = 16;
const random = randomFrom(seed);
const vectors = clusteredVectors(random, COUNT, DIMENSIONS, 12);
const cosine = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  let [dot, left, right] = [0, 0, 0];
  for (let d = 0; d < DIMENSIONS; d++) {
    dot += a[d]! * b[d]!;
    left += a[d]! ** 2;
    right += b[d]! ** 2;
  }
  return dot / Math.sqrt(left * right);
};
const vectorOf = (at: number) => vectors.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS);
/** A query vector from within a cluster. */
const INSIDE = Array.from(vectorOf(17));
/** The records that an index finds first. */
const NEAREST = new Set(
  Array.from({ length: COUNT }, (_, at) => at)
    .toSorted((a, b) => cosine(vectorOf(b), INSIDE) - cosine(vectorOf(a), INSIDE))
    .slice(0, 1_000),
);
const RECORDS = Array.from({ length: COUNT }, (_, at) => ({
  id: `r${at}`,
  values: Array.from(vectorOf(at)),
  metadata: { at, near: NEAREST.has(at), thousandth: at % 1_000, tenth: at % 10, half: at % 2 === 0 },
}));
type Metadata = (typeof RECORDS)[number]['metadata'];

const FILTERS: [object, (metadata: Metadata) => boolean][] = [
  [{ at: 4321 }, ({ at }) => at === 4321],
  [{ thousandth: 7 }, ({ thousandth }) => thousandth === 7],
  [{ at: { $lt: 300 } }, ({ at }) => at < 300],
  [{ tenth: { $in: [1, 2] } }, ({ tenth }) => tenth === 1 || tenth === 2],
  [{ half: true }, ({ half }) => half],
  [{ $not: { thousandth: 3 } }, ({ thousandth }) => thousandth !== 3],
  [{ absent: { $exists: false } }, () => true],
  [{ near: false }, ({ near }) => !near],
  [{ near: true }, ({ near }) => near],
  [{ at: -1 }, () => false],
];
const TOP_KS = isThorough ? [1, 10, 500, 10_000] : [10, 10_000];

let service: TestService;
beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off' });
});
afterAll(() => service.stop());

describe.each([1, 2])(`over %i shards (seed ${seed})`, (shards) => {
  const query = (body: object) =>
    service.api<{ matches: { id: string; score: number; metadata: Metadata }[] }>(
      'POST',
      '/collections/demo/query',
      body,
    );

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: 'demo', dimensions: DIMENSIONS, shards });
    for (let at = 0; at < COUNT; at += 1_000) {
      await service.api('POST', '/collections/demo/upsert', { records: RECORDS.slice(at, at + 1_000) });
    }
    const stats = () => call(service.provec.broker, 'shards.stats', {});
    await until('every record is in the index', async () => (await stats()).unindexed < 128 * shards);
  });
  // Deleted, because the count of unindexed records covers the whole service.
  afterAll(() => service.api('DELETE', '/collections/demo'));

  test.each(FILTERS)('%j', async (filter, matches) => {
    const matching = RECORDS.filter(({ metadata }) => matches(metadata)).length;
    for (const topK of TOP_KS) {
      // Query vectors from within a cluster and from far outside all clusters.
      for (const vector of [INSIDE, Array.from({ length: DIMENSIONS }, () => random() - 0.5)]) {
        const { body } = await query({ vector, topK, filter });
        expect(body.matches).toHaveLength(Math.min(topK, matching));
        expect(new Set(body.matches.map(({ id }) => id)).size).toBe(body.matches.length);
        expect(body.matches.every(({ metadata }) => matches(metadata))).toBe(true);
        const scores = body.matches.map(({ score }) => score);
        expect(scores).toEqual(scores.toSorted((a, b) => b - a));
        // Not just any matching records: an index is approximate, but finds at least half.
        const exact = new Set((await query({ vector, topK, filter, exact: true })).body.matches.map(({ id }) => id));
        const right = body.matches.filter(({ id }) => exact.has(id)).length;
        // With topK 1 half would mean exactly the best match; recall tests measure how often that
        // holds.
        if (topK > 1) expect(right).toBeGreaterThanOrEqual(exact.size / 2);
      }
    }
  });
});
