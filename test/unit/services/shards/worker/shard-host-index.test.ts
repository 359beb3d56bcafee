/** An index that cannot be built: the native library throws when the test says so. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Index } from 'usearch';
import type { ShardKey } from '../../../../../lib/shard/key.ts';
import type { IndexNotice, ShardSize } from '../../../../../services/shards/worker/protocol.ts';
import { Model, queryWith, specWith, type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';
import { HostHarness } from './shard-host-harness.ts';

const QUERY = queryWith([1, 0.5], { topK: 20 });
const SECRET = 'a secret of a customer';

let host: HostHarness;
let key: ShardKey;
let model: Model;
let addsLeft: number;
const add = Index.prototype.add;
beforeEach(() => {
  addsLeft = 0;
  jest.spyOn(Index.prototype, 'add').mockImplementation(function (this: Index, keys, vectors, threads) {
    // Vectors added before the exception stay in the index.
    add.call(this, keys, vectors, threads);
    if (addsLeft-- <= 0) throw new Error('Out of memory!');
  });
  host = new HostHarness({ engine: { graphMinRecords: 64, scanCostFactor: 1_000 } });
  model = new Model(specWith({ dimensions: 2 }));
  key = host.open('c');
});
afterEach(() => {
  jest.restoreAllMocks();
});

function write(count: number, first = 0, turnedBy = 0): void {
  const records = Array.from({ length: count }, (_, i): [string, TestRecord] => {
    return [`r${first + i}`, { values: directionOf(first + i + turnedBy), metadata: { of: SECRET } }];
  });
  const upsert = upsertOf(records, 2);
  model.apply(upsert);
  host.write(key, upsert);
}

function directionOf(angle: number): number[] {
  return [Math.cos(angle), Math.sin(angle)];
}

function unindexed(): number {
  return host.result<ShardSize>(host.send('size', { key })).unindexed;
}

function expectTrueAnswer(): void {
  const id = host.query(key, QUERY);
  if (!host.isAnswered(id)) host.turnsUntil(id);
  expect(host.matches(id).map(({ id }) => id)).toEqual(model.query(QUERY).map(({ id }) => id));
}

function faults(): IndexNotice[] {
  return host.notices.filter((notice): notice is IndexNotice => 'indexFault' in notice);
}

test('is a fault of its shard alone, reported once and without data, and the shard continues with scans', () => {
  write(200);
  host.settle();
  expect(faults()).toEqual([{ id: null, key, indexFault: expect.stringContaining('Out of memory!') }]);
  expect(JSON.stringify(faults())).not.toContain(SECRET);
  expect(unindexed()).toBe(200);
  expectTrueAnswer();
  write(100, 200);
  host.settle();
  expectTrueAnswer();
  expect(faults()).toHaveLength(1);

  addsLeft = Number.POSITIVE_INFINITY;
  const other = host.open('other');
  const records = Array.from({ length: 200 }, (_, i): [string, TestRecord] => [
    `r${i}`,
    { values: [1, i], metadata: {} },
  ]);
  host.write(other, upsertOf(records, 2));
  host.settle();
  expect(host.result(host.send('size', { key: other }))).toMatchObject({ unindexed: 0 });
  expect(unindexed()).toBe(300);
});

test('is retried after a pause that doubles, not before, and until it can be built', () => {
  write(200);
  host.settle();
  const pauses: number[] = [];
  for (let i = 0; i < 14; i++) {
    expect(host.timers).toHaveLength(1);
    const added = jest.mocked(Index.prototype.add).mock.calls.length;
    pauses.push(Math.round((host.timers[0].dueMs - host.nowMs) / 1_000));
    write(1, 1_000 + i);
    host.settle();
    expect(jest.mocked(Index.prototype.add).mock.calls).toHaveLength(added);
    addsLeft = i % 5;
    host.fire();
    host.settle();
    expect(jest.mocked(Index.prototype.add).mock.calls).toHaveLength(added + (i % 5) + 1);
    expectTrueAnswer();
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_600, 3_600]);
  expect(faults()).toHaveLength(1);

  addsLeft = Number.POSITIVE_INFINITY;
  host.fire();
  host.settle();
  expect(unindexed()).toBe(0);
  expectTrueAnswer();

  addsLeft = 0;
  write(200, 2_000);
  host.settle();
  expect(faults()).toHaveLength(2);
  expect(Math.round((host.timers[0].dueMs - host.nowMs) / 1_000)).toBe(1);
  expectTrueAnswer();
});

test('leaves the existing index in use if the next one fails', () => {
  addsLeft = Number.POSITIVE_INFINITY;
  write(600);
  host.settle();
  expect(unindexed()).toBe(0);
  addsLeft = 3;
  write(300, 0, 0.1);
  host.settle();
  expect(faults()).toHaveLength(1);
  expect(unindexed()).toBeGreaterThan(0);
  const searched = jest.spyOn(Index.prototype, 'search');
  expectTrueAnswer();
  expect(searched).toHaveBeenCalled();
  addsLeft = Number.POSITIVE_INFINITY;
  host.fire();
  host.settle();
  expect(unindexed()).toBe(0);
  expectTrueAnswer();
});

test('a timer set for a closed shard does nothing', () => {
  write(200);
  host.settle();
  host.result(host.send('close', { key }));
  host.fire();
  host.settle();
  expect(faults()).toHaveLength(1);
});
