/**
 * How much long queries leave to other requests. Real speed does not matter: a step takes a
 * simulated quarter of a millisecond.
 */
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ShardKey } from '../../../../../lib/shard/key.ts';
import type { QueryOptions } from '../../../../../lib/shard/match.ts';
import type { ShardQuery, ShardWrite } from '../../../../../services/shards/engine/port.ts';
import type { ShardSize, SizeNotice } from '../../../../../services/shards/worker/protocol.ts';
import { queryWith, type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';
import { HostHarness, LOOK_MS } from './shard-host-harness.ts';

/** Longer than by default, so that a slice has many steps. */
const SLICE_MS = 10;
const RECORDS = 640;

const CHEAP = queryWith([1, 1]);
/** A query with many conditions, each of which every record meets. */
const BOMB = bomb(0, { topK: 5 });

/** A bomb that differs from the others. */
function bomb(i: number, changes: Partial<QueryOptions> = { topK: 1_000 }): ShardQuery {
  const conditions = Array.from({ length: 250 }, (_, k) => ({ tags: { $ne: `q${k}` } }));
  return queryWith([1, 1], { filter: { n: { $gte: -i }, $and: conditions }, ...changes });
}

/** `count` records from number `first` on; the filter above accepts all of them. */
function records(count: number, first = 0): ShardWrite {
  const all = Array.from({ length: count }, (_, i): [string, TestRecord] => {
    const metadata = { n: first + i, tags: [`a${i % 7}`, `b${i}`] };
    return [`r${first + i}`, { values: [1, (first + i) / RECORDS], metadata }];
  });
  return upsertOf(all, 2);
}

let host: HostHarness;
let large: ShardKey;
let small: ShardKey;
beforeEach(() => {
  host = new HostHarness({ waitMaxMs: Number.POSITIVE_INFINITY, sliceMs: SLICE_MS });
  large = host.open('large');
  host.write(large, records(RECORDS));
  small = host.open('small');
  host.write(small, records(4));
  host.settle();
});

/** Builds the columns, then returns the number of turns that the bomb needs without competition. */
function turnsOfBomb(): number {
  host.turnsUntil(host.query(large, bomb(0)));
  return host.turnsUntil(host.query(large, bomb(0)));
}

describe('a long query', () => {
  test('lets a query of another shard be answered at once', () => {
    const long = host.query(large, BOMB);
    host.turn();
    const cheap = host.query(small, CHEAP);
    expect(host.matches(cheap)).toHaveLength(4);
    expect(host.isAnswered(long)).toBe(false);
    expect(host.turnsUntil(long)).toBeGreaterThan(10);
    expect(host.matches(long).map(({ id }) => id)).toEqual(['r639', 'r638', 'r637', 'r636', 'r635']);
  });

  test('never holds the thread for more than its slice', () => {
    host.turnsUntil(host.query(large, BOMB));
    expect(host.longestTurnMs).toBeGreaterThan(SLICE_MS / 2);
    expect(host.longestTurnMs).toBeLessThanOrEqual(SLICE_MS + 4 * LOOK_MS);
  });

  test('takes turns with one of another shard', () => {
    const other = host.open('other');
    host.write(other, records(RECORDS / 4));
    host.settle();
    const long = host.query(large, BOMB);
    host.turn();
    const shorter = host.query(other, BOMB);
    expect(host.isAnswered(shorter)).toBe(false);
    host.turnsUntil(shorter);
    expect(host.isAnswered(long)).toBe(false);
    host.turnsUntil(long);
  });

  test('lets a query of its own shard that ends within a slice be answered at once', () => {
    const cheap = queryWith([1, 1], { filter: { n: -1 } });
    host.turnsUntil(host.query(large, cheap));
    const long = host.query(large, BOMB);
    host.turn();
    expect(host.matches(host.query(large, cheap))).toEqual([]);
    expect(host.isAnswered(long)).toBe(false);
  });

  test.each([
    ['many steps', 1],
    ['one step', 1e12],
  ])('reports how much the shard has grown by what it had built in %s', (_, stepNs) => {
    host = new HostHarness({ engine: { stepNs } });
    large = host.open('large');
    host.write(large, records(RECORDS));
    host.settle();
    const before = sizeOf(large);
    host.notices.length = 0;
    const id = host.query(large, BOMB);
    host.settle();
    expect(host.matches(id)).toHaveLength(5);
    const told = host.notices.filter((notice): notice is SizeNotice => 'size' in notice);
    expect(told.map(({ size }) => size)).toEqual([sizeOf(large)]);
    expect(sizeOf(large).bytes).toBeGreaterThan(before.bytes);
  });
});

function sizeOf(key: ShardKey): ShardSize {
  return host.result(host.send('size', { key }));
}

describe('writes', () => {
  test('are answered although sliced queries keep coming, and later queries see them', () => {
    const alone = turnsOfBomb();
    const seen: { id: number; sent: 'before' | 'after' }[] = [];
    let commit: number | null = null;
    let stage: number | null = null;
    let turns = 0;
    const pour = () => {
      const answered = commit !== null && host.isAnswered(commit);
      seen.push({ id: host.query(large, bomb(seen.length)), sent: answered ? 'after' : 'before' });
      host.turn();
    };
    while (seen.length < 8) pour();
    stage = host.send('stage', { key: large, writes: [records(1, RECORDS)] });
    while (!host.isAnswered(stage)) pour();
    commit = host.send('commit', { key: large });
    // A query is being read, and the commit must not disturb it.
    expect(host.isAnswered(commit)).toBe(false);
    for (; !host.isAnswered(commit); turns++) pour();
    // Four queries may be running, and none is added. Each of their slices takes a turn, as does
    // each new query.
    expect(turns).toBeLessThan(6 * alone);
    for (let i = 0; i < 4; i++) pour();
    host.settle();
    const counts = new Set<string>();
    for (const { id, sent } of seen) {
      const found = host.matches(id).length;
      const order = host.answered.indexOf(id) < host.answered.indexOf(commit) ? 'answered before' : 'answered after';
      counts.add(`sent ${sent}, ${order}: ${found}`);
    }
    expect([...counts].sort()).toEqual([
      'sent after, answered after: 641',
      'sent before, answered after: 641',
      'sent before, answered before: 640',
    ]);
  });

  test('wait for four queries at most, and no query is added while they wait', () => {
    turnsOfBomb();
    const bombs = Array.from({ length: 12 }, (_, i) => host.query(large, bomb(i)));
    const commit = host.write(large, records(1, RECORDS));
    host.turnsUntil(commit);
    expect(bombs.filter((id) => host.isAnswered(id))).toHaveLength(4);
    host.settle();
    expect(bombs.map((id) => host.matches(id).length)).toEqual([640, 640, 640, 640, ...Array(8).fill(641)]);
  });

  test('continue between the steps of a query that only builds columns', () => {
    const long = host.query(large, bomb(0));
    // Frees one slot whose columns are built already and one whose columns are not. Records without
    // fields take both.
    const bare = ['x', 'y'].map((id): [string, TestRecord] => [id, { values: [1, 1], metadata: {} }]);
    const commits = [
      host.write(large, records(2, RECORDS), { kind: 'delete', ids: ['r1', 'r638'] }),
      host.write(large, upsertOf(bare, 2)),
    ];
    expect(commits.every((id) => host.isAnswered(id))).toBe(true);
    expect(host.isAnswered(long)).toBe(false);
    host.turnsUntil(long);
    const ids = host.matches(long).map(({ id }) => id);
    const left = Array.from({ length: RECORDS + 2 }, (_, i) => `r${i}`).filter((id) => id !== 'r1' && id !== 'r638');
    expect(new Set(ids)).toEqual(new Set(left));
    expect(ids).toHaveLength(RECORDS);
  });

  test('and the engine’s moving of records wait for the reads that use them', () => {
    turnsOfBomb();
    host.write(large, { kind: 'delete', ids: Array.from({ length: 440 }, (_, i) => `r${i}`) });
    const held = sizeOf(large).bytes;
    const asked = [null, { n: { $gte: 0 } }, { tags: { $ne: 'a' } }].map((filter) => {
      return host.query(large, queryWith([1, 1], { topK: 1_000, filter, includeMetadata: true, exact: true }));
    });
    expect(asked.some((id) => host.isAnswered(id))).toBe(false);
    host.settle();
    expect(sizeOf(large).bytes).toBeLessThan(held);
    for (const id of asked) {
      const found = host.matches(id);
      expect(found.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, i) => `r${RECORDS - 1 - i}`));
      expect(found.every(({ id, metadata }) => `r${JSON.parse(metadata!).n}` === id)).toBe(true);
    }
  });

  test('and the engine’s own work continue although sliced queries keep coming', () => {
    host = new HostHarness({ engine: { graphMinRecords: 64, scanCostFactor: 1e-9 } });
    large = host.open('large');
    host.write(large, records(RECORDS));
    let asked = 0;
    for (let turns = 0; sizeOf(large).unindexed > 0; turns++) {
      expect(turns).toBeLessThan(20_000);
      host.query(large, bomb(asked++));
      host.turn();
    }
    expect(asked).toBeGreaterThan(10);
  });

  test('and the building of the index continue although queries and writes leave the host no turn', () => {
    host = new HostHarness({ engine: { graphMinRecords: 64, stepNs: 1e12 } });
    large = host.open('large');
    host.write(large, records(8_000));
    const untilIndexed = (ask: (i: number) => number): number => {
      const { unindexed } = sizeOf(large);
      for (let asked = 1; asked < 10_000; asked++) {
        expect(host.isAnswered(ask(asked))).toBe(true);
        if (sizeOf(large).unindexed < unindexed - 1_000) return asked;
      }
      throw new Error('The index does not grow.');
    };
    expect(untilIndexed(() => host.query(large, CHEAP))).toBeGreaterThan(10);
    untilIndexed((i) => host.write(large, records(1, 8_000 + i)));
    // The last group is staged but not committed.
    host.send('stage', { key: large, writes: [records(1, 100_000)] });
    untilIndexed(() => host.query(large, CHEAP));
  });
});

describe('refused', () => {
  const refusal = (id: number) => {
    const { code, message } = host.fault(id);
    return { code, message };
  };

  test('is a query that reads beyond its budget, with the reason; others are not, and nothing waits for it any more', () => {
    host = new HostHarness({ cpuMaxMs: 50 });
    large = host.open('large');
    host.write(large, records(RECORDS));
    host.settle();
    const long = host.query(large, BOMB);
    host.turnsUntil(long);
    const commit = host.write(large, records(1, RECORDS));
    expect(refusal(long)).toEqual({
      code: 'UNAVAILABLE',
      message:
        'The request took more than 50 ms of processor time in one shard: the filter is too expensive for this many records.',
    });
    expect(host.isAnswered(commit)).toBe(true);
    const scan = host.query(large, { ...CHEAP, exact: true });
    host.turnsUntil(scan);
    expect(refusal(scan).message).toContain('the search is too expensive');
    const cheap = host.query(large, queryWith([1, 1], { filter: { n: { $lt: 5 } } }));
    host.turnsUntil(cheap);
    expect(host.matches(cheap)).toHaveLength(5);
  });

  test('is a preview of updates that takes longer than its budget, though it reads no further', () => {
    host = new HostHarness({ cpuMaxMs: 50, engine: { stepNs: 30_000 } });
    large = host.open('large');
    const text = 'x'.repeat(10_000);
    const all = Array.from({ length: 200 }, (_, at): [string, TestRecord] => [
      `r${at}`,
      { values: [1, at], metadata: { text } },
    ]);
    host.write(large, upsertOf(all, 2));
    host.settle();
    const updates = all.map(([id]) => ({ id, values: null, set: '{"x":1}', unset: [], path: id }));
    const preview = (countsChanges: boolean) => {
      const terms = { metadataMaxBytes: 40_000, countsChanges };
      const id = host.send('previewUpdates', { key: large, updates, terms });
      host.settle();
      return id;
    };
    expect(refusal(preview(true)).message).toContain('the update is too expensive');
    expect(host.result(preview(false))).toEqual({ matched: 200, changed: 200, refused: null });
  });

  test('is none because of the columns that it had built, which others have too', () => {
    const builtMs = RECORDS * LOOK_MS;
    host = new HostHarness({ cpuMaxMs: builtMs / 2 });
    large = host.open('large');
    host.write(large, records(RECORDS));
    const first = host.query(large, queryWith([1, 1], { filter: { n: { $lt: 5 } } }));
    host.settle();
    expect(host.matches(first)).toHaveLength(5);
    expect(host.nowMs).toBeGreaterThan(builtMs);
  });

  test('is a query that no caller waits for any more', () => {
    host = new HostHarness({ waitMaxMs: 30 });
    large = host.open('large');
    host.write(large, records(RECORDS));
    host.settle();
    const long = host.query(large, BOMB);
    host.settle();
    expect(refusal(long)).toEqual({ code: 'UNAVAILABLE', message: 'The shard did not answer in time.' });
  });

  test('are all queries and requests of a closed shard', () => {
    turnsOfBomb();
    const bombs = Array.from({ length: 6 }, (_, i) => host.query(large, bomb(i)));
    const updates = Array.from({ length: RECORDS }, (_, i) => {
      return { id: `r${i}`, values: null, set: '{"x":1}', unset: [], path: '' };
    });
    const terms = { metadataMaxBytes: 100, countsChanges: true };
    bombs.push(host.send('previewUpdates', { key: large, updates, terms }));
    const commit = host.write(large, records(1, RECORDS));
    host.result(host.send('close', { key: large }));
    for (const id of [...bombs, commit, host.query(large, CHEAP)]) expect(host.fault(id).code).toBe('UNAVAILABLE');
    host.settle();
  });
});

test('an answer that no caller continues to read releases its records by itself', () => {
  const wide = (first: number) => records(RECORDS, first);
  const [abandoned, ended] = ['abandoned', 'ended'].map((name) => {
    host = new HostHarness();
    const key = host.open(name);
    for (let first = 0; first < 8 * RECORDS; first += RECORDS) host.write(key, wide(first));
    host.settle();
    const ids = Array.from({ length: 100 }, (_, at) => `r${at}`);
    const fetch = host.send('fetch', { key, ids, pageMaxBytes: 1_000 });
    host.turnsUntil(fetch);
    const page = host.result<{ rest: string | null }>(fetch);
    if (name === 'ended') host.send('leave', { key, rest: page.rest! });
    const gone = Array.from({ length: 8 * RECORDS - 100 }, (_, at) => `r${at + 100}`);
    for (let at = 0; at < gone.length; at += 1_000)
      host.write(key, { kind: 'delete', ids: gone.slice(at, at + 1_000) });
    host.settle();
    const heldBytes = host.result<ShardSize>(host.send('size', { key })).bytes;
    while (host.timers.length > 0) host.fire();
    host.settle();
    return { heldBytes, leftBytes: host.result<ShardSize>(host.send('size', { key })).bytes };
  });
  expect(abandoned!.heldBytes).toBeGreaterThan(1.5 * ended!.heldBytes);
  expect(abandoned!.leftBytes).toBeLessThan(1.2 * ended!.leftBytes);
});
