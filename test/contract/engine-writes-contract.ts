import { describe, expect, test } from '@jest/globals';
import { keyHashOf } from '../../lib/merkle/leaf.ts';
import { EMPTY_HEAD } from '../../lib/shard/head.ts';
import { isOfShard } from '../../lib/shard/spec.ts';
import type { ReplayedEntry, ShardWrite } from '../../services/shards/engine/port.ts';
import { changesOf, decodeEntryBody, encodeEntryBody } from '../../services/shards/entry.ts';
import { runThrough } from '../../services/shards/steps.ts';
import {
  fetchFrom,
  idsIn,
  leafIn,
  Model,
  proveIn,
  queryIn,
  queryWith,
  readIn,
  rootOf,
  specWith,
  stageIn,
  type TestRecord,
  upsertOf,
  write,
} from '../support/shard-engine.ts';
import type { MakeEngine } from './engine-contract.ts';

const SPEC = specWith();
const record = (...values: number[]): TestRecord => ({ values, metadata: { v: values[0] } });
const upsert = (records: Record<string, TestRecord>): ShardWrite => upsertOf(Object.entries(records), 4);
const remove = (...ids: string[]): ShardWrite => ({ kind: 'delete', ids });
const ONE = upsert({ a: record(1, 0, 0, 0), b: record(0, 1, 0, 0), c: record(0, 0, 1, 0) });
const EVERYTHING = queryWith([1, 2, 3, 4], { topK: 100, includeMetadata: true, includeValues: true });

/** How a shard changes: staging, replay, restore, and the proofs of what it contains. */
export function writesContract(make: MakeEngine): void {
  const engine = make();

  describe('staging', () => {
    test('shows nothing before commit, all of it after', () => {
      const shard = engine.create(SPEC);
      write(shard, ONE);
      const read = () => ({
        head: shard.head,
        records: shard.records,
        matches: queryIn(shard, EVERYTHING),
        fetched: fetchFrom(shard, ['a', 'b', 'd']),
        fresh: readIn(shard, (snapshot) => snapshot.countNew(['a', 'b', 'd'])),
        leaves: ['a', 'b', 'd'].map((id) => leafIn(shard, id)),
        proofs: ['a', 'b', 'd'].map((id) => proveIn(shard, id)),
      });
      const before = read();
      const staged = stageIn(shard, [upsert({ a: record(9, 9, 9, 9), d: record(1, 1, 1, 0) }), remove('b', 'x')]);
      expect(staged.outcomes).toEqual([
        { upserted: 2, deleted: 0, created: 1 },
        { upserted: 0, deleted: 1, created: -1 },
      ]);
      expect(read()).toEqual(before);
      expect(() => stageIn(shard, [ONE])).toThrow('staged');
      shard.commit();
      expect(shard.head).toEqual(staged.commit?.head);
      expect(shard.head).toMatchObject({ seq: 2, count: 3 });
      expect(queryIn(shard, EVERYTHING).map(({ id }) => id)).toEqual(['a', 'd', 'c']);
      expect(fetchFrom(shard, ['b', 'd', 'a'])).toEqual([
        { id: 'd', values: Float32Array.of(1, 1, 1, 0), metadata: '{"v":1}' },
        { id: 'a', values: Float32Array.of(9, 9, 9, 9), metadata: '{"v":9}' },
      ]);
      expect(readIn(shard, (snapshot) => snapshot.countNew(['a', 'b', 'x']))).toBe(2);
    });

    test('leaves no trace when aborted', () => {
      const shard = engine.create(SPEC);
      write(shard, ONE);
      const before = { head: shard.head, matches: queryIn(shard, EVERYTHING), bytes: shard.bytes };
      const group = [
        upsert({ a: record(9, 9, 9, 9), n: record(2, 2, 2, 2) }),
        remove('b', 'n'),
        upsert({ b: record(7, 0, 0, 0) }),
      ];
      const first = stageIn(shard, group);
      shard.abort();
      shard.abort();
      expect({ head: shard.head, matches: queryIn(shard, EVERYTHING) }).toEqual({
        head: before.head,
        matches: before.matches,
      });
      expect(fetchFrom(shard, ['a', 'n'])).toHaveLength(1);
      expect(stageIn(shard, group).commit?.head).toEqual(first.commit?.head);
      shard.abort();
      for (let i = 0; i < 2_000; i++) {
        stageIn(shard, [upsert({ [`t${i}`]: record(1, 2, 3, i) })]);
        shard.abort();
      }
      expect(shard.bytes).toBeLessThan(before.bytes * 2);
      expect(() => shard.commit()).toThrow('Nothing is staged');
    });

    test('counts as if one write ran after the other, and records the net effect', () => {
      const shard = engine.create(SPEC);
      write(shard, ONE);
      const { outcomes, commit } = stageIn(shard, [
        upsert({ n: record(1, 1, 0, 0), a: record(5, 0, 0, 0) }),
        remove('n', 'a', 'b'),
        upsert({ a: record(6, 0, 0, 0) }),
        upsert({ a: record(7, 0, 0, 0) }),
        remove('b'),
      ]);
      expect(outcomes).toEqual([
        { upserted: 2, deleted: 0, created: 1 },
        { upserted: 0, deleted: 3, created: -3 },
        { upserted: 1, deleted: 0, created: 1 },
        { upserted: 1, deleted: 0, created: 0 },
        { upserted: 0, deleted: 0, created: 0 },
      ]);
      expect(changesOf(commit!.body, 2).map(({ id, record }) => [id, record?.vector[0]])).toEqual([
        ['a', 7],
        ['b', undefined],
      ]);
    });

    test('stages nothing for a group that changes nothing, but a commit for one that cancels out', () => {
      const shard = engine.create(SPEC);
      expect(stageIn(shard, [remove('a'), remove('b')])).toEqual({
        outcomes: [0, 0].map(() => ({ upserted: 0, deleted: 0, created: 0 })),
        commit: null,
      });
      expect(shard.head).toEqual(EMPTY_HEAD);
      const entry = write(shard, ONE, remove('a', 'b', 'c'));
      expect(entry?.head).toMatchObject({ seq: 1, count: 0, type: 'empty' });
      expect(changesOf(entry!.body, 1)).toEqual([]);
      expect(queryIn(shard, EVERYTHING)).toEqual([]);
    });

    test('a bad write in a group undoes the group', () => {
      const shard = engine.create({ ...SPEC, of: 2, index: keyHashOf('a')[0] >>> 7 });
      const other = ['b', 'c', 'd', 'e', 'f', 'g', 'h'].find(
        (id) => keyHashOf(id)[0] >>> 7 !== keyHashOf('a')[0] >>> 7,
      )!;
      write(shard, upsert({ a: record(1, 0, 0, 0) }));
      const before = { head: shard.head, matches: queryIn(shard, EVERYTHING) };
      for (const bad of [
        upsert({ a: record(2, 0, 0, Number.NaN) }),
        upsert({ [other]: record(1, 0, 0, 0) }),
        upsert({ '\ud800': record(1, 0, 0, 0) }),
        upsertOf([['a', { values: [1, 2], metadata: {} }]], 2),
      ]) {
        expect(() => stageIn(shard, [upsert({ a: record(3, 0, 0, 0) }), bad])).toThrow(RangeError);
        expect({ head: shard.head, matches: queryIn(shard, EVERYTHING) }).toEqual(before);
        expect(stageIn(shard, [remove('a')]).outcomes[0].deleted).toBe(1);
        shard.abort();
      }
    });

    test('writing a record again unchanged gives a new seq and keeps the root', () => {
      const shard = engine.create(SPEC);
      write(shard, ONE);
      const root = rootOf(shard);
      const entry = write(shard, upsert({ b: record(0, 1, 0, 0) }));
      expect(entry?.seq).toBe(2);
      expect(changesOf(entry!.body, 2).map(({ id, record }) => [id, record?.seq])).toEqual([['b', 2]]);
      expect(rootOf(shard)).toBe(root);
      expect(leafIn(shard, 'b')?.seq).toBe(2);
      expect(leafIn(shard, 'a')?.seq).toBe(1);
    });
  });

  describe('replay and restore', () => {
    const log = () => {
      const live = engine.create(SPEC);
      const entries = [
        write(live, ONE),
        write(live, upsert({ a: record(4, 4, 0, 1) }), remove('c')),
        write(live, upsert({ d: record(4, 0, 4, 1) })),
      ].map((entry) => ({ kind: 'write' as const, ...entry! }));
      return { live, entries };
    };

    test('replaying the log gives the live shard', () => {
      const { live, entries } = log();
      const replayed = engine.create(SPEC);
      for (const entry of entries) expect(replayed.replay(entry)).toBe(true);
      expect(replayed.head).toEqual(live.head);
      expect(queryIn(replayed, EVERYTHING)).toEqual(queryIn(live, EVERYTHING));
      const open = { kind: 'open' as const, seq: 4, head: { ...live.head, seq: 4 }, body: new Uint8Array(0) };
      expect(replayed.replay(open)).toBe(true);
      expect(replayed.head).toEqual({ ...live.head, seq: 4, version: 3 });
      expect(() => replayed.replay(open)).toThrow('does not follow');
      const miscounted = { ...open, seq: 5, head: { ...live.head, seq: 5, version: 4 } };
      expect(replayed.replay(miscounted)).toBe(false);
    });

    test('a tampered entry is told by its root, and the state advances', () => {
      const { entries } = log();
      const replayed = engine.create(SPEC);
      const { dimensions, upserts, deletes } = decodeEntryBody(entries[0].body);
      const tampered = upserts.map((upsert) => ({ ...upsert, vector: upsert.vector.map((value) => value + 1) }));
      const body = encodeEntryBody({ dimensions, upserts: tampered, deletes });
      expect(replayed.replay({ ...entries[0], body })).toBe(false);
      expect(replayed.head).toMatchObject({ seq: 1, count: 3 });
      expect(replayed.replay(entries[1])).toBe(false);
      expect(replayed.head.seq).toBe(2);
    });

    test.each<[string, (entry: Pick<ReplayedEntry, 'kind' | 'body'>) => Pick<ReplayedEntry, 'kind' | 'body'>]>([
      ['that is cut short', ({ kind, body }) => ({ kind, body: body.subarray(0, -1) })],
      ['of another version', ({ kind, body }) => ({ kind, body: body.map((byte, at) => (at === 0 ? 9 : byte)) })],
      ['whose values are no numbers', ({ kind, body }) => ({ kind, body: body.slice().fill(0xff, 16, 20) })],
      ['that the store could not decode', () => ({ kind: 'damaged', body: new Uint8Array(0) })],
    ])('an entry %s changes nothing but seq and version, and is told', (_, damage) => {
      const { entries } = log();
      const replayed = engine.create(SPEC);
      expect(replayed.replay(entries[0])).toBe(true);
      const { hash } = replayed.head;
      expect(replayed.replay({ ...entries[1], ...damage(entries[1]) })).toBe(false);
      expect(replayed.head).toEqual({ ...entries[0].head, seq: 2, version: 2, hash });
      expect(
        queryIn(replayed, EVERYTHING)
          .map(({ id }) => id)
          .sort(),
      ).toEqual(['a', 'b', 'c']);
      expect(replayed.replay(entries[2])).toBe(false);
      expect(fetchFrom(replayed, ['d'])).toHaveLength(1);
    });

    test('stored records that cannot be of the shard are left out', () => {
      const { live, entries } = log();
      const [one, two] = changesOf(entries[0].body, 1).map(({ record }) => record!);
      const restored = engine.create(SPEC);
      const unfit = [
        { ...one, vector: one.vector.map(() => Number.NaN) },
        { ...one, vector: new Float32Array(one.vector.length + 1).fill(1) },
        ...['{"v":', '[]', 'null', ''].map((metadata) => ({ ...one, id: 'another', metadata: Buffer.from(metadata) })),
        two,
      ];
      expect(restored.restore([one, two, ...unfit])).toBe(unfit.length);
      expect(runThrough(restored.endRestore(1, 1))).toMatchObject({ seq: 1, count: 2 });
      expect(restored.head.hash).not.toEqual(live.head.hash);
    });

    test('restoring stored records gives the live shard, and their bytes, not their leaves, give the root', () => {
      const { live, entries } = log();
      const stored = new Map(
        entries.flatMap(({ body, seq }) => changesOf(body, seq)).map(({ id, record }) => [id, record]),
      );
      const records = [...stored.values()].filter((record) => record !== null);
      const restored = engine.create(SPEC);
      restored.restore(records.slice(0, 1));
      restored.restore(records.slice(1));
      expect(runThrough(restored.endRestore(3, live.head.version))).toEqual(live.head);
      expect(queryIn(restored, EVERYTHING)).toEqual(queryIn(live, EVERYTHING));
      expect(leafIn(restored, 'd')).toEqual(leafIn(live, 'd'));
      expect(() => restored.restore(records)).toThrow('new shard');

      const tampered = engine.create(SPEC);
      tampered.restore(records.map((record) => ({ ...record, metadata: Buffer.from('{"v":0}') })));
      expect(runThrough(tampered.endRestore(3, live.head.version)).hash).not.toEqual(live.head.hash);
    });
  });

  test('proofs name what stands where the path ends', () => {
    const shard = engine.create(SPEC);
    const model = new Model(SPEC);
    expect(proveIn(shard, 'a')).toEqual({ head: EMPTY_HEAD, siblings: [], terminal: null, present: false });
    model.apply(ONE);
    write(shard, ONE);
    expect(rootOf(shard)).toBe(model.root());
    const present = proveIn(shard, 'b');
    expect(present.present).toBe(true);
    expect(present.terminal?.key).toBe(keyHashOf('b').toString('hex'));
    expect(present.head).toEqual(shard.head);
    const absent = proveIn(shard, 'nothing of that name');
    expect(absent.present).toBe(false);
    expect(absent.terminal?.key).not.toBe(keyHashOf('nothing of that name').toString('hex'));
    expect(idsIn(shard).sort()).toEqual(['a', 'b', 'c']);
    const snapshot = shard.snapshot();
    expect(snapshot.partsOf('b')?.vecHash.toString('hex')).toBe(present.terminal?.vecHash);
    expect(snapshot.partsOf('x')).toBeNull();
    snapshot.release();
  });

  test('a record of another shard is answered with the head, unless the only record stands in its way', () => {
    const of = 4;
    const ids = Array.from({ length: 200 }, (_, at) => `r${at}`);
    const idsOf = (index: number) => ids.filter((id) => isOfShard({ index, of }, keyHashOf(id)));
    const shard = engine.create(specWith({ dimensions: 2, index: 1, of }));
    const [own, other] = [idsOf(1), idsOf(2)];
    const put = (id: string) => write(shard, upsertOf([[id, { values: [1, 1], metadata: {} }]], 2));
    put(own[0]);
    expect(proveIn(shard, other[0])).toMatchObject({
      present: false,
      terminal: { key: keyHashOf(own[0]).toString('hex') },
    });
    // Simulates that the shard gets its second record after its head was read.
    put(own[1]);
    expect(proveIn(shard, other[0])).toEqual({ head: shard.head, siblings: [], terminal: null, present: false });
  });
}
