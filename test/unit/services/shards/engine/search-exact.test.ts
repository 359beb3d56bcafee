import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ProvecError } from '../../../../../lib/errors.ts';
import type { Metric, Quantization } from '../../../../../lib/records/metric.ts';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { propertyRuns } from '../../../../support/effort.ts';
import { randomFrom } from '../../../../support/random.ts';
import {
  Model,
  queryIn,
  queryWith,
  settle,
  smallGraphShard,
  specWith,
  type TestRecord,
  upsertOf,
  write,
} from '../../../../support/shard-engine.ts';

const METRICS: Metric[] = ['cosine', 'euclidean', 'dot'];
const QUANTIZATIONS: Quantization[] = ['bf16', 'f32', 'f16', 'i8'];

/** Few distinct values produce ties; large and small ones expose rounding. */
const component = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(-1, 0, 0.5, 1, 2) },
  fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
);

test.each(METRICS.flatMap((metric) => QUANTIZATIONS.map((quantization) => [metric, quantization] as const)))(
  '%s as %s: scans return the true best, graph searches exact scores and the full number',
  (metric, quantization) => {
    const given = fc.integer({ min: 1, max: 9 }).chain((dimensions) => {
      const vector = fc.array(component, { minLength: dimensions, maxLength: dimensions });
      return fc.tuple(fc.array(vector, { minLength: 1, maxLength: 90 }), vector, fc.integer({ min: 1, max: 100 }));
    });
    fc.assert(
      fc.property(
        given,
        fc.option(fc.double({ min: -1, max: 1, noNaN: true })),
        ([vectors, vector, topK], scoreThreshold) => {
          const spec = specWith({ dimensions: vector.length, metric, quantization });
          const shard = smallGraphShard(spec, { graphMinRecords: 16 });
          const model = new Model(spec);
          const records = vectors.map((values, i): [string, TestRecord] => [`${i % 7}-${i}`, { values, metadata: {} }]);
          const upsert = upsertOf(records, vector.length);
          write(shard, upsert);
          model.apply(upsert);
          settle(shard);
          const query = queryWith(vector, { topK, scoreThreshold, exact: true });
          const scores = new Map(
            model.query({ ...query, topK: 1e6, scoreThreshold: null }).map(({ id, score }) => [id, score]),
          );
          const near = (a: number, b: number) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b), Math.abs(a));

          const exact = queryIn(shard, query);
          const expected = model.query(query);
          // A score may be within a rounding error of the threshold.
          const isClear =
            scoreThreshold === null || [...scores.values()].every((score) => !near(score, scoreThreshold));
          if (isClear) expect(exact).toHaveLength(expected.length);
          expect(exact.every(({ score }, i) => i >= expected.length || near(score, expected[i].score))).toBe(true);
          for (const found of [exact, queryIn(shard, { ...query, exact: false })]) {
            if (scoreThreshold === null) expect(found).toHaveLength(Math.min(topK, vectors.length));
            expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
            found.forEach(({ id, score, distance }, i) => {
              expect(near(score, scores.get(id)!)).toBe(true);
              if (scoreThreshold !== null) expect(score).toBeGreaterThanOrEqual(scoreThreshold);
              if (metric === 'euclidean') expect(near(1 / (1 + distance!), score)).toBe(true);
              else expect(distance).toBeUndefined();
              if (i === 0) return;
              const before = found[i - 1];
              const isTie = before.score === score && before.distance === distance;
              expect(
                before.score > score ||
                  (before.score === score && before.distance! < distance!) ||
                  (isTie && Buffer.compare(Buffer.from(before.id), Buffer.from(id)) < 0),
              ).toBe(true);
            });
          }
        },
      ),
      { numRuns: propertyRuns(60) },
    );
  },
);

test('ties are ordered by id in the order of UTF-8 bytes, whichever was written first', () => {
  const spec = specWith({ dimensions: 2 });
  const ids = ['\u{1f701}', '\uffee', 'b', 'a', 'ä', 'B', '10', '9'];
  for (const order of [ids, [...ids].reverse()]) {
    const shard = new Shard(spec);
    for (const id of order) write(shard, upsertOf([[id, { values: [1, 2], metadata: {} }]], 2));
    const sorted = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const topK of [5, 7, 8])
      expect(queryIn(shard, queryWith([1, 2], { topK })).map(({ id }) => id)).toEqual(sorted.slice(0, topK));
  }
});

test('a record moved far away is not found under its old vector, a deleted one not at all', () => {
  const spec = specWith({ dimensions: 2, metric: 'euclidean' });
  const shard = smallGraphShard(spec);
  const at = (i: number, x: number): [string, TestRecord] => [`r${i}`, { values: [x, 0], metadata: {} }];
  write(
    shard,
    upsertOf(
      Array.from({ length: 400 }, (_, i) => at(i, i)),
      2,
    ),
  );
  settle(shard);
  expect(shard.unindexed).toBe(0);
  write(shard, upsertOf([at(5, 1_000)], 2), { kind: 'delete', ids: ['r7'] });
  const found = queryIn(shard, queryWith([6, 0], { topK: 4 }));
  expect(found.map(({ id }) => id)).toEqual(['r6', 'r4', 'r8', 'r3']);
  const far = queryIn(shard, queryWith([1_001, 0], { topK: 1, includeValues: true }));
  expect(far).toEqual([{ id: 'r5', score: 0.5, distance: 1, values: Float32Array.of(1_000, 0) }]);
});

test('a filter that only distant records match is answered completely', () => {
  const shard = smallGraphShard(specWith({ dimensions: 2, metric: 'euclidean' }));
  for (let from = 0; from < 3_000; from += 1_000) {
    const records = Array.from({ length: 1_000 }, (_, i): [string, TestRecord] => {
      return [`r${from + i}`, { values: [from + i, 0], metadata: { far: from + i >= 1_200 } }];
    });
    write(shard, upsertOf(records, 2));
  }
  settle(shard);
  const nearest = Array.from({ length: 10 }, (_, i) => `r${1_200 + i}`);
  const found = queryIn(shard, queryWith([0, 0], { filter: { far: true } }));
  expect(found.map(({ id }) => id)).toEqual(nearest);
});

test('an invalid filter is refused even by an empty shard; a vector of another length is a fault', () => {
  const shard = new Shard(specWith({ dimensions: 2 }));
  expect(() => queryIn(shard, queryWith([1, 2], { filter: { a: { $like: 1 } } }))).toThrow(ProvecError);
  expect(() => queryIn(shard, queryWith([1, 2, 3]))).toThrow(RangeError);
  expect(queryIn(shard, queryWith([0, 0], { filter: {} }))).toEqual([]);
});

test.each([
  [2_048, 300, 8],
  // The smallest possible chunks.
  [8_192, 120, 8],
])('scans skip exactly the unselected records, in any chunk: %i dimensions', (dimensions, count, numRuns) => {
  const values = new Array(dimensions).fill(1);
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(count - 1), { minLength: 1, maxLength: 12 }),
      fc.nat(count / 4),
      (wanted, gap) => {
        const shard = new Shard(specWith({ dimensions }));
        const records = Array.from({ length: count }, (_, i): [string, TestRecord] => {
          return [`r${i}`, { values, metadata: { wanted: wanted.includes(i) } }];
        });
        write(shard, upsertOf(records, dimensions));
        const gone = Array.from({ length: gap }, (_, i) => `r${Math.floor(count / 3) + i}`);
        write(shard, { kind: 'delete', ids: gone });
        const found = queryIn(shard, queryWith(values, { filter: { wanted: true }, topK: 100 }));
        const left = wanted.map((i) => `r${i}`).filter((id) => !gone.includes(id));
        expect(found.map(({ id }) => id)).toEqual(left.sort());
      },
    ),
    { numRuns: propertyRuns(numRuns) },
  );
});

test('a search in single steps finds the same as in one piece', () => {
  const spec = specWith({ dimensions: 8, metric: 'euclidean' });
  const random = randomFrom(7);
  const records = Array.from({ length: 900 }, (_, i): [string, TestRecord] => {
    return [`r${i}`, { values: Array.from({ length: 8 }, random), metadata: { even: i % 2 === 0 } }];
  });
  const [whole, stepped] = [1e12, 1].map((stepNs) => {
    const shard = smallGraphShard(spec, { stepNs });
    write(shard, upsertOf(records, 8));
    settle(shard);
    write(shard, { kind: 'delete', ids: ['r3', 'r5'] }, upsertOf([['r4', records[7][1]]], 8));
    return shard;
  });
  for (let i = 0; i < 50; i++) {
    const vector = Array.from({ length: 8 }, random);
    const query = queryWith(vector, { topK: 1 + (i % 20), filter: i % 3 === 0 ? { even: true } : null });
    expect(queryIn(stepped, query)).toEqual(queryIn(whole, query));
  }
});
