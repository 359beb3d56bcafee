/**
 * Scheduling on a worker thread. Real speed does not matter: a step takes a simulated quarter of a
 * millisecond.
 */
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ShardKey } from '../../../../../lib/shard/key.ts';
import type { ShardProof } from '../../../../../lib/shard/proof.ts';
import type { ShardWrite } from '../../../../../services/shards/engine/port.ts';
import type { ShardSize } from '../../../../../services/shards/worker/protocol.ts';
import { queryWith, type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';
import { HostHarness, LOOK_MS } from './shard-host-harness.ts';

const STAGE_SLICE_MS = 4;
const MANY = 640;
const NOISY_SHARDS = 16;
const ALL = queryWith([1, 1], { topK: 1_000 });

function records(count: number, first = 0): ShardWrite {
  const all = Array.from({ length: count }, (_, i): [string, TestRecord] => {
    return [`r${first + i}`, { values: [1, (first + i) / MANY], metadata: { n: first + i } }];
  });
  return upsertOf(all, 2);
}

const stage = (key: ShardKey, ...writes: ShardWrite[]) => host.send('stage', { key, writes });
const recordsOf = (key: ShardKey) => host.result<ShardSize>(host.send('size', { key })).records;

let host: HostHarness;
let calm: ShardKey;
let noisy: ShardKey[];
beforeEach(() => {
  host = new HostHarness();
  calm = host.open('calm', { accountId: 'calm' });
  host.write(calm, records(4));
  noisy = Array.from({ length: NOISY_SHARDS }, (_, i) => host.open(`noisy-${i}`, { accountId: 'noisy' }));
  host.settle();
});

describe('staging takes turns', () => {
  test('a large group never holds the thread for longer than a slice', () => {
    const large = stage(calm, records(MANY));
    host.longestTurnMs = 0;
    expect(host.turnsUntil(large)).toBeGreaterThan((MANY * LOOK_MS) / STAGE_SLICE_MS / 2);
    // The last step computes the root and the entry, and reading the clock before and after a turn
    // counts, too.
    expect(host.longestTurnMs).toBeLessThanOrEqual(STAGE_SLICE_MS + 4 * LOOK_MS);
  });

  test("one record is staged in the next turn, however many large groups another account's shards stage", () => {
    const groups = noisy.map((key) => stage(key, records(MANY)));
    for (let turns = 0; turns < 2 * NOISY_SHARDS; turns++) host.turn();
    const small = stage(calm, records(1, MANY));
    expect(host.turnsUntil(small)).toBe(1);
    expect(groups.filter((id) => host.isAnswered(id))).toEqual([]);
  });

  test('an account with one busy shard gets as much of the thread as one with sixteen', () => {
    const alone = host.turnsUntil(stage(calm, records(MANY)));
    host.result(host.send('abort', { key: calm }));
    host.settle();
    for (const key of noisy) stage(key, records(MANY));
    const large = stage(calm, records(MANY));
    expect(host.turnsUntil(large)).toBeLessThanOrEqual(2 * alone + 2);
  });

  test('a flood of single records is also work: another account waits for one of them, not for all', () => {
    const flood = noisy.map((key) => stage(key, records(1)));
    const small = stage(calm, records(1, MANY));
    expect(host.turnsUntil(small)).toBeLessThanOrEqual(2);
    expect(flood.filter((id) => host.isAnswered(id)).length).toBeLessThanOrEqual(1);
  });

  test("what an account's queries use outside of its turns counts too", () => {
    const [busy] = noisy as [ShardKey];
    host.write(busy, records(MANY));
    const turnsBeside = (queries: number): number => {
      const other = stage(busy, records(MANY, MANY));
      const large = stage(calm, records(MANY));
      let turns = 0;
      for (; !host.isAnswered(large); turns++) {
        for (let i = 0; i < queries; i++) host.query(busy, ALL);
        host.turn();
      }
      if (!host.isAnswered(other)) host.turnsUntil(other);
      for (const key of [busy, calm]) host.result(host.send('abort', { key }));
      host.settle();
      return turns;
    };
    const beside = turnsBeside(0);
    expect(turnsBeside(2)).toBeLessThan(0.8 * beside);
  });

  test('requests that keep coming before any turn do not keep it waiting', () => {
    const [busy] = noisy as [ShardKey];
    host.write(busy, records(MANY));
    host.settle();
    const small = stage(calm, records(1, MANY));
    let queries = 0;
    for (; !host.isAnswered(small) && queries < 100; queries++) host.query(busy, ALL);
    expect(queries).toBeLessThan(10);
  });

  test('freed memory is returned even if a group that changes nothing came in between', () => {
    const bytesAfter = (key: ShardKey, between: () => void): number => {
      host.write(key, records(4_000));
      host.settle();
      host.result(host.write(key, { kind: 'delete', ids: Array.from({ length: 3_900 }, (_, i) => `r${i}`) }));
      between();
      host.settle();
      return host.result<ShardSize>(host.send('size', { key })).bytes;
    };
    const [one, other] = noisy as [ShardKey, ShardKey];
    const absent: ShardWrite = { kind: 'delete', ids: Array.from({ length: 1_000 }, (_, i) => `absent${i}`) };
    expect(bytesAfter(one, () => stage(one, absent))).toBe(bytesAfter(other, () => undefined));
  });

  test('its own index is built after it, not in between', () => {
    const turnsBeside = (backlog: number): number => {
      host = new HostHarness({ engine: { graphMinRecords: 16, scanCostFactor: 1_000 } });
      const key = host.open('indexed');
      host.write(key, records(backlog));
      return host.turnsUntil(stage(key, records(MANY, backlog)));
    };
    expect(turnsBeside(4_000)).toBeLessThanOrEqual(turnsBeside(1) + 1);
  });

  test("background work of another account's shards takes turns with it", () => {
    host = new HostHarness({ engine: { graphMinRecords: 16, scanCostFactor: 1_000 } });
    for (const id of noisy.keys()) host.write(host.open(`n${id}`, { accountId: 'noisy' }), records(MANY));
    calm = host.open('calm', { accountId: 'calm' });
    const small = stage(calm, records(1));
    expect(host.turnsUntil(small)).toBeLessThanOrEqual(2);
  });
});

describe('while a group is being staged', () => {
  test('reads see nothing of it, and proofs wait until it is committed', () => {
    const ids = ['r0', 'r100', 'absent'];
    const updates = ids.map((id, at) => ({ id, values: null, set: '{"x":1}', unset: [], path: `updates[${at}]` }));
    const terms = { metadataMaxBytes: 100, countsChanges: true };
    const found = () => {
      const asked = {
        query: host.query(calm, ALL),
        fetch: host.send('fetch', { key: calm, ids, pageMaxBytes: 1e6 }),
        countNew: host.send('countNew', { key: calm, ids }),
        metadataBytes: host.send('metadataBytes', { key: calm, ids }),
        previewUpdates: host.send('previewUpdates', { key: calm, updates, terms }),
      };
      for (const id of Object.values(asked)) if (!host.isAnswered(id)) host.turnsUntil(id);
      return {
        query: host.matches(asked.query).length,
        fetch: host.result<{ items: { id: string }[] }>(asked.fetch).items.map(({ id }) => id),
        countNew: host.result(asked.countNew),
        metadataBytes: host.result(asked.metadataBytes),
        previewUpdates: host.result(asked.previewUpdates),
      };
    };
    const before = {
      query: 4,
      fetch: ['r0'],
      countNew: 2,
      metadataBytes: [7, 0, 0],
      previewUpdates: { matched: 1, changed: 1, refused: null },
    };
    expect(found()).toEqual(before);
    const large = stage(calm, records(MANY, 100));
    host.turn();
    const proof = host.send('prove', { key: calm, id: 'r100' });
    expect(found()).toEqual(before);
    if (!host.isAnswered(large)) host.turnsUntil(large);
    expect(found()).toEqual(before);
    expect(host.isAnswered(proof)).toBe(false);
    host.result(host.send('commit', { key: calm }));
    expect(found()).toEqual({
      query: 4 + MANY,
      fetch: ['r0', 'r100'],
      countNew: 1,
      metadataBytes: [7, 9, 0],
      previewUpdates: { matched: 2, changed: 2, refused: null },
    });
    expect(host.result<ShardProof>(proof)).toMatchObject({ present: true, head: { seq: 2 } });
    expect(recordsOf(calm)).toBe(4 + MANY);
  });

  test('it cannot be committed or undone', () => {
    const large = stage(calm, records(MANY, 100));
    host.turn();
    for (const op of ['commit', 'abort'] as const)
      expect(host.fault(host.send(op, { key: calm }))).toMatchObject({ code: null });
    host.turnsUntil(large);
    host.result(host.send('commit', { key: calm }));
    expect(recordsOf(calm)).toBe(4 + MANY);
  });

  test('closing the shard refuses the group, and nothing of it is there when the shard reopens', () => {
    const large = stage(calm, records(MANY, 100));
    host.turn();
    host.result(host.send('close', { key: calm }));
    expect(host.fault(large)).toMatchObject({ code: 'UNAVAILABLE' });
    host.settle();
    calm = host.open('calm', { accountId: 'calm' });
    host.result(host.write(calm, records(2)));
    expect(recordsOf(calm)).toBe(2);
  });

  test('a record that cannot be staged undoes those before it', () => {
    const broken = upsertOf([['\ud800', { values: [1, 2], metadata: {} }]], 2);
    const group = stage(calm, records(MANY, 100), broken);
    host.turnsUntil(group);
    expect(host.fault(group)).toMatchObject({ code: null });
    expect(recordsOf(calm)).toBe(4);
    host.result(host.write(calm, records(1, 100)));
    expect(recordsOf(calm)).toBe(5);
  });
});

test('no timer keeps a closed shard in memory', () => {
  const fetch = host.send('fetch', { key: calm, ids: ['r0', 'r1'], pageMaxBytes: 1 });
  const page = host.result<{ rest: string | null }>(fetch);
  expect(page.rest).not.toBeNull();
  expect(host.timers).toHaveLength(1);
  host.result(host.send('close', { key: calm }));
  expect(host.timers).toEqual([]);
});

test('memory that a read kept from being compacted is compacted once the read has ended', () => {
  const names = (count: number, first: number) => Array.from({ length: count }, (_, at) => `r${first + at}`);
  const terms = { metadataMaxBytes: 100, countsChanges: true };
  const updates = names(100, 3_900).map((id) => ({ id, values: null, set: '{"x":1}', unset: [], path: id }));
  const [untouched, ...others] = ['nothing', 'answered', 'cancelled'].map((name) => {
    const key = host.open(name);
    host.write(key, records(4_000));
    host.settle();
    host.turnsUntil(stage(key, { kind: 'delete', ids: names(3_900, 0) }));
    const id = name === 'nothing' ? null : host.send('previewUpdates', { key, updates, terms });
    const commit = host.send('commit', { key });
    if (!host.isAnswered(commit)) host.turnsUntil(commit);
    if (id !== null) expect(host.isAnswered(id)).toBe(false);
    for (let turns = 0; turns < 4; turns++) host.turn();
    if (name === 'cancelled') host.cancel(key, id!);
    host.settle();
    if (name === 'answered') expect(host.result(id!)).toEqual({ matched: 100, changed: 100, refused: null });
    return host.result<ShardSize>(host.send('size', { key })).bytes;
  });
  expect(others).toEqual([untouched, untouched]);
});
