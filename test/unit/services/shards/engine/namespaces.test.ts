import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { propertyRuns } from '../../../../support/effort.ts';
import { naiveMatches } from '../../../../support/naive-filter.ts';
import {
  queryIn,
  queryWith,
  readIn,
  settle,
  specWith,
  type TestRecord,
  upsertOf,
  write,
} from '../../../../support/shard-engine.ts';

const SPEC = specWith({ dimensions: 2, metric: 'dot' });
const NAMES = ['', 'a', 'ab', 'b', '🧭', '\ufffd'];
const FILTERS = [null, { even: true }, { at: { $lt: 20 } }, { $and: [{ even: false }, { at: { $gte: 7 } }] }];

const key = fc.tuple(fc.constantFrom(...NAMES), fc.nat(60));
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('upsert'), keys: fc.array(key, { maxLength: 60 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete'), keys: fc.array(key, { maxLength: 80 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear'), keys: fc.array(key, { maxLength: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('settle'), keys: fc.constant([]) }) },
);

const storedAs = (name: string, at: number) => (name === '' ? `r${at}` : `\0${name}\0r${at}`);
const metadataOf = (at: number) => ({ at, even: at % 2 === 0 });

test('a shard counts, searches, lists and clears namespaces like a map of maps', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const shard = new Shard(SPEC);
      const held = new Map(NAMES.map((name) => [name, new Set<number>()]));
      for (const { kind, keys } of steps) {
        if (kind === 'upsert' && keys.length > 0) {
          const records = keys.map(
            ([name, at]) => [storedAs(name, at), { values: [1, at], metadata: metadataOf(at) }] as [string, TestRecord],
          );
          write(shard, upsertOf(new Map(records), 2));
          for (const [name, at] of keys) held.get(name)!.add(at);
        }
        if (kind === 'delete') {
          write(shard, { kind: 'delete', ids: keys.map(([name, at]) => storedAs(name, at)) });
          for (const [name, at] of keys) held.get(name)!.delete(at);
        }
        for (const [namespace] of kind === 'clear' ? keys : []) {
          const all = { filter: null, throughSeq: null, max: 1_000 };
          write(shard, { kind: 'delete matching', namespace, ...all });
          held.get(namespace)!.clear();
        }
        if (kind === 'settle') settle(shard);
        expectHeld(shard, held);
      }
      return shard.bytes > 0;
    }),
    { numRuns: propertyRuns(60) },
  );
});

function expectHeld(shard: Shard, held: Map<string, Set<number>>): void {
  for (const [namespace, numbers] of held) {
    for (const filter of FILTERS) {
      const expected = [...numbers].filter((at) => filter === null || naiveMatches(filter, metadataOf(at)));
      const query = { ...queryWith([0, 1], { filter, topK: 100 }), namespace };
      const found = queryIn(shard, query).map(({ score }) => score);
      expect(found).toEqual(expected.sort((a, b) => b - a));
      expect(readIn(shard, (snapshot) => snapshot.count(query)).count).toBe(expected.length);
      const { counts, missing } = readIn(shard, (snapshot) => snapshot.facets('at', query));
      expect(missing).toBe(0);
      expect(new Map(counts.entries)).toEqual(new Map(expected.map((at) => [at, 1])));
    }
  }
  // U+FFFD comes before the emoji in UTF-8, unlike in UTF-16.
  const ordered = ['', 'a', 'ab', 'b', '\ufffd', '🧭'].flatMap((name) => {
    const { size } = held.get(name)!;
    return size > 0 ? [[name, size]] : [];
  });
  const list = (prefix: string, after: string | null, limit: number) =>
    readIn(shard, (snapshot) => snapshot.namespaces({ prefix, after, limit }));
  expect(list('', null, 10)).toEqual(ordered);
  expect(list('', null, 2)).toEqual(ordered.slice(0, 2));
  expect(list('a', null, 10)).toEqual(ordered.filter(([name]) => (name as string).startsWith('a')));
  expect(list('', 'ab', 1)).toEqual(ordered.filter(([name]) => !['', 'a', 'ab'].includes(name as string)).slice(0, 1));
}

test('all namespaces are every record that a request can name', () => {
  const shard = new Shard(SPEC);
  const named = NAMES.map((name) => storedAs(name, 1));
  for (const unnamed of [[], ['\0', '\0a', '\0\0\0']]) {
    const records = [...named, ...unnamed].map((id): [string, TestRecord] => [
      id,
      { values: [1, 1], metadata: { n: 1 } },
    ]);
    write(shard, upsertOf(records, 2));
    for (const filter of [null, { n: 1 }]) {
      const query = { ...queryWith([0, 1], { filter, topK: 100 }), namespace: null };
      expect(readIn(shard, (snapshot) => snapshot.count(query)).count).toBe(named.length);
      expect(
        queryIn(shard, query)
          .map(({ id }) => id)
          .sort(),
      ).toEqual(named.toSorted());
    }
  }
});

test('memory for namespaces is allocated with the first and freed with the last', () => {
  const bytesOf = (names: string[]): { full: number; after: number } => {
    const shard = new Shard(SPEC);
    const records = names.map((name) =>
      Array.from({ length: 1_000 }, (_, at): [string, TestRecord] => [
        name.length > 1 ? `${name}${at}` : storedAs(name, at),
        { values: [1, at], metadata: {} },
      ]),
    );
    for (const each of records) write(shard, upsertOf(each, 2));
    settle(shard);
    const full = shard.bytes;
    for (const each of records.slice(1)) write(shard, { kind: 'delete', ids: each.map(([id]) => id) });
    settle(shard);
    return { full, after: shard.bytes };
  };
  const [without, within] = [bytesOf(['', 'xax', 'xbx', 'xcx', 'xdx']), bytesOf(['', 'a', 'b', 'c', 'd'])];
  expect(within.full - without.full).toBeGreaterThan(5_000 * 12);
  expect(within.after - without.after).toBeLessThan(1_000);
});
