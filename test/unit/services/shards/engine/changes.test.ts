import { expect, test } from '@jest/globals';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { parseFilter } from '../../../../../lib/filter/parse.ts';
import { LIMITS } from '../../../../../lib/limits.ts';
import type { ShardWrite } from '../../../../../services/shards/engine/port.ts';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { propertyRuns } from '../../../../support/effort.ts';
import { naiveMatches } from '../../../../support/naive-filter.ts';
import { fieldName, filter, metadata } from '../../../../support/random-filters.ts';
import {
  Model,
  readIn,
  rootOf,
  specWith,
  stageIn,
  type TestRecord,
  upsertOf,
} from '../../../../support/shard-engine.ts';

type Json = Record<string, unknown>;

const SPEC = specWith({ dimensions: 2, metric: 'dot' });
const METADATA_MAX_BYTES = 400;

const id = fc.nat(30).map((number) => `r${number}`);
const values = fc.tuple(fc.integer({ min: -4, max: 4 }), fc.integer({ min: -4, max: 4 }));
const merge = fc
  .tuple(metadata, fc.array(fieldName, { maxLength: 2 }))
  .map(([set, keys]) => ({ set, unset: keys.filter((key) => !Object.hasOwn(set, key)) }));
const update = fc.record({ id, values: fc.option(values), merge });
/** Requests as clients may send them. `max`: records per round. */
const request = fc.oneof(
  fc.record({
    kind: fc.constant('upsert' as const),
    records: fc.array(fc.tuple(id, metadata), { minLength: 1, maxLength: 9 }),
  }),
  fc.record({
    kind: fc.constant('update' as const),
    updates: fc.uniqueArray(update, { maxLength: 5, selector: (each) => each.id }),
  }),
  fc.record({
    kind: fc.constant('delete matching' as const),
    filter: fc.option(filter),
    max: fc.integer({ min: 1, max: 7 }),
  }),
  fc.record({ kind: fc.constant('merge matching' as const), filter, merge, max: fc.integer({ min: 1, max: 7 }) }),
);
type Request = typeof request extends fc.Arbitrary<infer R> ? R : never;

const parsed = (given: Json | null) => (given === null ? null : parseFilter(given, LIMITS));

function merged(before: Json, { set, unset }: { set: Json; unset: string[] }): Json {
  const after = Object.fromEntries(Object.entries(before).filter(([key]) => !unset.includes(key)));
  return Object.fromEntries([
    ...Object.entries(after).filter(([key]) => !Object.hasOwn(set, key)),
    ...Object.entries(set),
  ]);
}
const sizeOf = (of: Json) => Buffer.byteLength(canonicalize(of)!);

/**
 * Applies the request to a plain map; returns the number of changed records, null for a refusal.
 */
function expected(records: Map<string, TestRecord>, asked: Request): number | null {
  switch (asked.kind) {
    case 'upsert':
      for (const [id, metadata] of asked.records) records.set(id, { values: [1, 2], metadata });
      return null;
    case 'delete matching': {
      const going = [...records].filter(
        ([, { metadata }]) => asked.filter === null || naiveMatches(asked.filter, metadata),
      );
      for (const [id] of going) records.delete(id);
      return going.length;
    }
    default: {
      const chosen =
        asked.kind === 'update'
          ? asked.updates.filter(({ id }) => records.has(id))
          : [...records]
              .filter(([, { metadata }]) => naiveMatches(asked.filter, metadata))
              .map(([id]) => ({ id, values: null, merge: asked.merge }));
      const after = chosen.map(({ id, values, merge }) => {
        const before = records.get(id)!;
        return { id, before, values: values ?? before.values, metadata: merged(before.metadata, merge) };
      });
      const isTooLong = after.some(({ before, metadata }) => {
        return sizeOf(metadata) > METADATA_MAX_BYTES && sizeOf(metadata) > sizeOf(before.metadata);
      });
      if (isTooLong) return null;
      for (const { id, values, metadata } of after) records.set(id, { values, metadata });
      return after.filter(({ before, values, metadata }) => {
        return canonicalize(before.metadata) !== canonicalize(metadata) || `${before.values}` !== `${values}`;
      }).length;
    }
  }
}

/** The request as shard writes. Each round of a change by filter follows from the previous one. */
function writesOf(asked: Request): ShardWrite {
  const terms = { throughSeq: null, metadataMaxBytes: METADATA_MAX_BYTES };
  switch (asked.kind) {
    case 'upsert':
      return upsertOf(
        asked.records.map(([id, metadata]) => [id, { values: [1, 2], metadata }]),
        2,
      );
    case 'update':
      return {
        kind: 'update',
        ...terms,
        updates: asked.updates.map(({ id, values, merge: { set, unset } }) => {
          const vector = values && Float32Array.from(values);
          return { id, values: vector, set: canonicalize(set)!, unset, path: `updates of ${id}` };
        }),
      };
    case 'delete matching':
      return { kind: 'delete matching', ...terms, filter: parsed(asked.filter), max: asked.max };
    case 'merge matching': {
      const { set, unset } = asked.merge;
      return {
        kind: 'merge matching',
        ...terms,
        filter: parsed(asked.filter),
        max: asked.max,
        set: canonicalize(set)!,
        unset,
      };
    }
  }
}

/** Previews of a merge, with its changes counted and without. */
function previewsOf(shard: Shard, write: ShardWrite) {
  const terms = [true, false].map((countsChanges) => ({ metadataMaxBytes: METADATA_MAX_BYTES, countsChanges }));
  if (write.kind === 'update')
    return terms.map((each) => readIn(shard, (snapshot) => snapshot.previewUpdates(write.updates, each)));
  if (write.kind !== 'merge matching') return null;
  return terms.map((each) => readIn(shard, (snapshot) => snapshot.previewMerge({ ...write, ...each })));
}

test('changes have their effects, in rounds, and replaying their log entries gives the same shard', () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 12 }), (requests) => {
      const [shard, replica, model] = [new Shard(SPEC), new Shard(SPEC), new Model(SPEC)];
      for (const asked of requests) {
        const previews = previewsOf(shard, writesOf(asked));
        const wanted = expected(model.records, asked);
        if (previews) {
          const [counted, looked] = previews;
          expect([counted.refused !== null, looked.refused !== null]).toEqual([wanted === null, wanted === null]);
          if (wanted !== null) expect([counted.changed, looked.changed]).toEqual([wanted, looked.matched]);
        }
        let [changed, rounds] = [0, 0];
        let next: { throughSeq: number } | undefined;
        do {
          // Each round changes at least one record.
          expect(rounds++).toBeLessThanOrEqual(31);
          const { outcomes, commit } = stageIn(shard, [{ ...writesOf(asked), ...next } as ShardWrite]);
          const [outcome] = outcomes;
          if (commit) {
            shard.commit();
            expect(replica.replay({ seq: commit.head.seq, kind: 'write', ...commit })).toBe(true);
          }
          if (outcome.refused) {
            // Earlier rounds are applied by now; the model applies nothing of a refused request.
            if (rounds > 1) return;
            expect([wanted, commit]).toEqual([null, null]);
          }
          changed += outcome.upserted + outcome.deleted;
          next = outcome.next;
        } while (next);
        if (wanted !== null) expect(changed).toBe(wanted);
        expect([rootOf(shard), shard.records]).toEqual([model.root(), model.records.size]);
        expect(rootOf(replica)).toBe(rootOf(shard));
      }
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

test('what a round leaves is what existed when the first began', () => {
  const shard = new Shard(SPEC);
  const put = (from: number, count: number) => {
    const records = Array.from({ length: count }, (_, at): [string, TestRecord] => [
      `r${from + at}`,
      { values: [1, 1], metadata: { a: 1 } },
    ]);
    stageIn(shard, [upsertOf(records, 2)]);
    shard.commit();
  };
  const round = (throughSeq: number | null) => {
    const [outcome] = stageIn(shard, [
      { kind: 'delete matching', filter: parsed({ a: 1 }), throughSeq, max: 4 },
    ]).outcomes;
    shard.commit();
    return outcome;
  };
  put(0, 6);
  const first = round(null);
  expect(first).toMatchObject({ deleted: 4, next: { throughSeq: 1 } });
  put(10, 6);
  expect(round(first.next!.throughSeq)).toEqual({ upserted: 0, deleted: 2, created: -2, matched: 2 });
  expect(shard.records).toBe(6);
});
