import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type EngineOptions, Shard } from '../../../../../../services/shards/engine/shard.ts';
import { propertyRuns } from '../../../../../support/effort.ts';
import { naiveFacets, naiveMatches } from '../../../../../support/naive-filter.ts';
import { fieldName, filter, metadata } from '../../../../../support/random-filters.ts';
import {
  Model,
  queryIn,
  queryWith,
  readIn,
  settle,
  smallGraphShard,
  specWith,
  type TestRecord,
  upsertOf,
  write,
} from '../../../../../support/shard-engine.ts';

const allWith = (filter: Record<string, unknown>) => queryWith([1, 1], { topK: 10_000, filter });

function idsOf(matches: { id: string }[]): string[] {
  return matches.map(({ id }) => id).sort();
}

test.each<[string, EngineOptions]>([
  ['columns', {}],
  ['columns, a step at a time,', { stepNs: 1 }],
  ['columns of some fields and the records themselves, a step at a time,', { stepNs: 1, columnsMinBytes: 0 }],
])(
  '%s select what the reference evaluator matches, while records are added, changed, moved and deleted',
  (_, options) => {
    const spec = specWith({ dimensions: 2 });
    fc.assert(
      fc.property(
        fc.array(metadata, { minLength: 1, maxLength: 70, size: 'max' }),
        fc.array(filter, { minLength: 1, maxLength: 8 }),
        fc.array(fc.tuple(fc.nat(80), fc.option(metadata)), { maxLength: 30, size: 'max' }),
        fieldName,
        (initial, filters, changes, field) => {
          const shard = smallGraphShard(spec, options);
          const model = new Model(spec);
          const put = (records: [string, TestRecord][]) => {
            const upsert = upsertOf(records, 2);
            write(shard, upsert);
            model.apply(upsert);
          };
          const check = () => {
            for (const given of filters) {
              const query = allWith(given);
              const ids = idsOf(model.query(query));
              expect(idsOf(queryIn(shard, query))).toEqual(ids);
              expect(readIn(shard, (snapshot) => snapshot.count(query)).count).toBe(ids.length);
              const matching = [...model.records.values()].filter((each) => naiveMatches(given, each.metadata));
              const { counts, missing } = readIn(shard, (snapshot) => snapshot.facets(field, query));
              const naive = naiveFacets(
                field,
                matching.map((each) => each.metadata),
              );
              expect([missing, new Map(counts.entries)]).toEqual([naive.missing, naive.counts]);
            }
          };
          put(initial.map((metadata, i) => [`r${i}`, { values: [1, i], metadata }]));
          check();
          for (const [i, metadata] of changes) {
            if (metadata !== null) put([[`r${i}`, { values: [i, 1], metadata }]]);
            else {
              write(shard, { kind: 'delete', ids: [`r${i}`] });
              model.apply({ kind: 'delete', ids: [`r${i}`] });
            }
          }
          settle(shard);
          check();
        },
      ),
      { numRuns: propertyRuns(100) },
    );
  },
);

test('columns follow records that compaction moves', () => {
  const spec = specWith({ dimensions: 512 });
  const shard = smallGraphShard(spec, { graphMinRecords: 1e9 });
  const ids = Array.from({ length: 1500 }, (_, i) => `r${i}`);
  const values = Array.from({ length: 512 }, (_, d) => d + 1);
  for (let i = 0; i < ids.length; i += 500) {
    const records = ids.slice(i, i + 500).map((id, k): [string, TestRecord] => {
      return [id, { values, metadata: { n: i + k, tags: [`t${(i + k) % 7}`], s: `s${(i + k) % 5}` } }];
    });
    write(shard, upsertOf(records, 512));
  }
  const filter = { tags: 't3', s: { $gte: 's2' }, n: { $gte: 700 } };
  const query = queryWith(values, { topK: 10_000, filter });
  const before = idsOf(queryIn(shard, query));
  const gone = new Set(ids.filter((_, i) => i % 3 !== 0));
  for (let i = 0; i < ids.length; i += 1000) {
    write(shard, { kind: 'delete', ids: ids.slice(i, i + 1000).filter((id) => gone.has(id)) });
  }
  const held = shard.bytes;
  settle(shard);
  expect(shard.bytes).toBeLessThan(held * 0.6);
  expect(idsOf(queryIn(shard, query))).toEqual(before.filter((id) => !gone.has(id)));
});

/** `count` records of two dimensions. */
function fill(shard: Shard, count: number, metadataOf: (i: number) => TestRecord['metadata']): void {
  const records = Array.from({ length: count }, (_, i): [string, TestRecord] => {
    return [`r${i}`, { values: [1, i], metadata: metadataOf(i) }];
  });
  write(shard, upsertOf(records, 2));
}

test('conditions on few records are read from them, whichever part of the filter comes first', () => {
  const shard = new Shard(specWith({ dimensions: 2 }));
  fill(shard, 6_000, (i) => ({
    space: `s${i % 3_000}`,
    n: i,
    tags: i % 2 === 0 ? ['even'] : [],
    odd: { is: i % 2 === 1 },
  }));
  const both = { space: { $in: ['s7', 's8'] } };
  const inTwo = ['r3007', 'r3008', 'r7', 'r8'];
  expect(idsOf(queryIn(shard, allWith(both)))).toEqual(inTwo);
  expect(idsOf(queryIn(shard, allWith({ n: { $gt: 1_000 }, ...both })))).toEqual(['r3007', 'r3008']);
  expect(idsOf(queryIn(shard, allWith({ tags: 'even', ...both })))).toEqual(['r3008', 'r8']);
  expect(idsOf(queryIn(shard, allWith({ 'odd.is': { $ne: true }, ...both })))).toEqual(['r3008', 'r8']);
  expect(idsOf(queryIn(shard, allWith({ $or: [{ n: 7 }, { n: 3_008 }, { n: 9 }], ...both })))).toEqual(['r3008', 'r7']);
  const most = Array.from({ length: 2_990 }, (_, i) => `s${i}`);
  expect(queryIn(shard, allWith({ $not: { space: { $in: most } }, n: { $lt: 3_000 } }))).toHaveLength(10);
});

test('many numbers are found as few are', () => {
  const shard = new Shard(specWith({ dimensions: 2 }));
  fill(shard, 300, (i) => ({ n: i / 2, all: [i / 2, null] }));
  for (const count of [1, 2, 8, 9, 10, 31, 100]) {
    const $in = Array.from({ length: count }, (_, i) => [-1, 140, 3.5, 0, 149.5, 3.5, 1e300][i] ?? i);
    const expected = idsOf(queryIn(shard, allWith({ all: { $in } })));
    expect(expected).toHaveLength(new Set($in.filter((n) => n >= 0 && n < 150)).size);
    expect(idsOf(queryIn(shard, allWith({ n: { $in } })))).toEqual(expected);
  }
});

test('a column that one query began and left is completed by the next', () => {
  const shard = new Shard(specWith({ dimensions: 2 }), { stepNs: 1 });
  fill(shard, 100, (i) => ({ n: i }));
  const query = allWith({ n: { $gte: 40 } });
  const left = shard.snapshot().query(query);
  for (let step = 0; step < 50; step++) expect(left.next().value).toBe('building');
  left.return(undefined as never);
  write(shard, { kind: 'delete', ids: ['r45', 'r95'] });
  fill(shard, 10, (i) => ({ n: i + 60 }));
  expect(queryIn(shard, query)).toHaveLength(68);
  const phases = [...(shard.snapshot().query(allWith({ n: { $gte: 41 } })) as Iterable<string>)];
  expect(phases).not.toContain('building');
});

test('replaced values do not pile up', () => {
  const spec = specWith({ dimensions: 2 });
  const shard = smallGraphShard(spec);
  const put = (round: number) => {
    const metadata = { s: `value ${round}`, tags: Array.from({ length: 50 }, (_, i) => `${round}/${i}`) };
    write(shard, upsertOf([['r', { values: [1, 1], metadata }]], 2));
  };
  const find = (round: number) => queryIn(shard, allWith({ s: `value ${round}`, tags: `${round}/7` }));
  put(0);
  expect(find(0)).toHaveLength(1);
  const bytes = shard.bytes;
  for (let round = 1; round <= 2_000; round++) {
    put(round);
    expect(find(round)).toHaveLength(1);
    expect(find(round - 1)).toHaveLength(0);
  }
  expect(shard.bytes).toBeLessThan(bytes + 512 * 1024);
});
