import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MIB } from '../../../../lib/mib.ts';
import type { LogEntry, ShardLog } from '../../../../store/log.ts';
import { type Store, StoreError } from '../../../../store/port.ts';
import { ManualClock } from '../../../support/accounts.ts';
import { batchOf, type ShardFixture, shardFixture, specOf } from '../../../support/shard-fixture.ts';
import { endShardWorkers } from '../../../support/shard-workers.ts';
import { AppendGate, withLog } from '../../../support/store-log.ts';
import { untilStoreIdle } from '../../../support/store-watch.ts';

let fixture: ShardFixture;
let gate: AppendGate;
beforeEach(() => {
  gate = new AppendGate();
});
afterEach(() => {
  gate.open();
  return fixture.end();
});

const withAppend = (append: (entry: LogEntry, real: ShardLog) => Promise<'committed' | 'conflict'>) =>
  withLog((real) => ({ append: (entry) => append(entry, real) }));

const ids = async (spec = specOf(1), wanted = ['a', 'b', 'c']) =>
  (await fixture.node.fetch({ shard: spec, ids: wanted })).items.map(({ id }) => id);

test('requests that arrive while an append is in flight share the next entry', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let appends = 0;
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      appends++;
      if (appends === 1) await held;
      return real.append(entry);
    }),
  );
  const first = fixture.node.upsert({ shard: specOf(1), batch: batchOf(['first']) });
  while (appends === 0) await new Promise(setImmediate);
  const rest = Array.from({ length: 20 }, (_, at) =>
    fixture.node.upsert({ shard: specOf(1), batch: batchOf([`r${at}`]) }),
  );
  while (fixture.node.stats().queuedRequests < 20) await new Promise(setImmediate);
  release();
  await first;
  const acks = await Promise.all(rest);
  expect(appends).toBe(2);
  expect(new Set(acks.map(({ head }) => head.seq))).toEqual(new Set([2]));
  expect(acks.every(({ upserted, created }) => upserted === 1 && created === 1)).toBe(true);
});

test('a write during which its collection is deleted is told that the collection does not exist', async () => {
  const { collectionId } = specOf(1);
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      // Like another node would.
      if (entry.seq === 2 && (await fixture.store.catalog.dropCollection(collectionId, true)) === 'dropped')
        await fixture.store.dropCollectionData(collectionId);
      return real.append(entry);
    }),
  );
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  await expect(fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) })).rejects.toMatchObject({
    code: 'COLLECTION_NOT_FOUND',
  });
});

test('no part of a write is visible before its entry is durable', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let reached = false;
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      reached = true;
      await held;
      return real.append(entry);
    }),
  );
  const write = fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  while (!reached) await new Promise(setImmediate);
  const query = {
    vector: Float32Array.of(1, 1, 1, 1),
    topK: 10,
    filter: null,
    includeValues: false,
    includeMetadata: true,
    scoreThreshold: null,
    exact: false,
  };
  const terms = { metadataMaxBytes: 100, countsChanges: true };
  const updates = [{ id: 'a', values: null, set: '{"x":1}', unset: [], path: 'updates[0]' }];
  const found = async () => {
    const { node } = fixture;
    return {
      queried: (await node.query({ shard: specOf(1), query })).items.map(({ id }) => id),
      fetched: await ids(),
      new: await node.countNew({ shard: specOf(1), ids: ['a', 'b'] }),
      metadataBytes: await node.metadataBytes({ shard: specOf(1), ids: ['a'] }),
      updated: (await node.previewUpdates({ shard: specOf(1), updates, terms })).changed,
    };
  };
  expect(await found()).toEqual({ queried: [], fetched: [], new: 2, metadataBytes: [0], updated: 0 });
  expect((await fixture.node.head(specOf(1))).seq).toBe(0);
  release();
  await write;
  const metadataBytes = [Buffer.byteLength(batchOf(['a']).metadata[0]!)];
  expect(await found()).toEqual({ queried: ['a'], fetched: ['a'], new: 1, metadataBytes, updated: 1 });
});

test('an upsert needs room for its vectors twice, and for its ids and metadata once', async () => {
  const batch = batchOf(['a', 'b']);
  const neededBytes = 2 * batch.vectors.byteLength + [...batch.ids, ...batch.metadata].join('').length;
  const clock = new ManualClock();
  let freeBytes = 0;
  const onDisk = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name) => (name === 'freeBytes' ? async () => freeBytes : Reflect.get(target, name)),
    });
  fixture = await shardFixture({ PROVEC_DISK_RESERVE_MB: '1' }, onDisk, clock);
  const upsert = () => {
    clock.advance(1_000);
    return fixture.node.upsert({ shard: specOf(1), batch });
  };
  freeBytes = MIB + neededBytes - 1;
  await expect(upsert()).rejects.toMatchObject({ code: 'OUT_OF_CAPACITY' });
  freeBytes += 1;
  expect(await upsert()).toMatchObject({ upserted: 2 });
});

test('a full disk refuses the whole group with 507 and changes nothing', async () => {
  let full = false;
  fixture = await shardFixture(
    {},
    withAppend((entry, real) => (full ? Promise.reject(new StoreError('capacity', 'full')) : real.append(entry))),
  );
  const before = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  full = true;
  const refused = await Promise.allSettled([
    fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) }),
    fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a'], 9) }),
  ]);
  expect(refused.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual([
    'OUT_OF_CAPACITY',
    'OUT_OF_CAPACITY',
  ]);
  expect(await ids()).toEqual(['a']);
  expect(await fixture.node.head(specOf(1))).toEqual(before.head);
  full = false;
  const after = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) });
  expect(after.head.seq).toBe(2);
  expect(await ids()).toEqual(['a', 'b']);
});

test('a full disk refuses to record a root with 507, and the shard stays open', async () => {
  let full = false;
  fixture = await shardFixture(
    {},
    withAppend((entry, real) => (full ? Promise.reject(new StoreError('capacity', 'full')) : real.append(entry))),
  );
  const { head } = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  const actor = fixture.node.shardCache.peek(specOf(1));
  full = true;
  await expect(fixture.node.resume(specOf(1))).rejects.toMatchObject({ code: 'OUT_OF_CAPACITY' });
  expect(await fixture.node.head(specOf(1))).toEqual(head);
  full = false;
  await fixture.node.resume(specOf(1));
  expect(await fixture.node.head(specOf(1))).toEqual({ ...head, seq: 2 });
  expect(fixture.node.shardCache.peek(specOf(1))).toBe(actor);
});

test('an append of unknown outcome that was stored is acknowledged', async () => {
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      await real.append(entry);
      throw new StoreError('unknown', 'timed out');
    }),
  );
  expect((await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) })).head.seq).toBe(1);
  expect(await ids()).toEqual(['a']);
});

test('an append of unknown outcome that was not stored is refused with 503, cannot land later, and can be repeated', async () => {
  const late: LogEntry[] = [];
  fixture = await shardFixture(
    {},
    withAppend((entry, real) => {
      if (late.length > 0) return real.append(entry);
      late.push(entry);
      return Promise.reject(new StoreError('unknown', 'timed out'));
    }),
  );
  await expect(fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  expect(await ids()).toEqual([]);
  expect(await fixture.store.log.append(late[0]!)).toBe('conflict');
  const { head } = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) });
  expect(head).toMatchObject({ seq: 2, count: 1 });
  await fixture.crash();
  expect(await ids()).toEqual(['b']);
  expect(await fixture.node.head(specOf(1))).toEqual(head);
});

test('an append of unknown outcome that lands while its seq is being taken is acknowledged', async () => {
  let appends = 0;
  let first: LogEntry | null = null;
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      appends++;
      if (appends === 1) {
        first = entry;
        throw new StoreError('unknown', 'timed out');
      }
      if (appends === 2) await real.append(first!);
      return real.append(entry);
    }),
  );
  expect((await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) })).head).toMatchObject({
    seq: 1,
    count: 1,
  });
  expect(await ids()).toEqual(['a']);
});

test("another owner's entry at our seq fences the actor; the next use opens from the log", async () => {
  let intruder: LogEntry | null = null;
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      if (!intruder) {
        intruder = { ...entry, epoch: entry.epoch + 1, entryId: randomUUID() };
        await real.append(intruder);
      }
      return real.append(entry);
    }),
  );
  await expect(fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  expect((await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) })).head.seq).toBe(2);
  expect(await ids()).toEqual(['a', 'b']);
});

test('reads that wait for a staged group are answered when the actor breaks', async () => {
  let waiting: Promise<unknown> | null = null;
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      if (!waiting) {
        waiting = fixture.node.prove({ shard: specOf(1), id: 'a' }).catch((error: { code: string }) => error.code);
        await real.append({ ...entry, epoch: entry.epoch + 1, entryId: randomUUID() });
      }
      return real.append(entry);
    }),
  );
  await expect(fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  expect(await waiting).toBe('UNAVAILABLE');
});

test('a worker that ends after the append loses nothing: the write is acknowledged and the shard reopens', async () => {
  let killed = false;
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      const outcome = await real.append(entry);
      if (!killed) {
        killed = true;
        await endShardWorkers();
      }
      return outcome;
    }),
  );
  expect((await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) })).head.seq).toBe(1);
  expect(await ids()).toEqual(['a']);
  expect((await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) })).head.seq).toBe(2);
  expect(await ids()).toEqual(['a', 'b']);
});

test('counts are as if the requests had run one after the other; deletes of absent ids commit nothing', async () => {
  fixture = await shardFixture();
  const { node } = fixture;
  expect(await node.upsert({ shard: specOf(1), batch: batchOf(['a', 'b']) })).toMatchObject({
    upserted: 2,
    created: 2,
    deleted: 0,
  });
  expect(await node.upsert({ shard: specOf(1), batch: batchOf(['b', 'c'], 2) })).toMatchObject({
    upserted: 2,
    created: 1,
  });
  expect(await node.delete({ shard: specOf(1), ids: ['a', 'absent'] })).toMatchObject({
    deleted: 1,
    created: -1,
    head: { seq: 3 },
  });
  expect(await node.delete({ shard: specOf(1), ids: ['a', 'absent'] })).toMatchObject({
    deleted: 0,
    created: 0,
    head: { seq: 3 },
  });
  expect(await ids()).toEqual(['b', 'c']);
});

test('only a write that makes the engine throw fails, with 500; the others of its group are stored and the shard continues', async () => {
  let openings = 0;
  fixture = await shardFixture({}, (store) => {
    const { records } = store;
    const countOpenings = new Proxy(records, {
      get: (_, name) => (name === 'scan' ? scan : Reflect.get(records, name).bind(records)),
    });
    const scan = (key: string) => {
      openings++;
      return records.scan(key);
    };
    const gated = gate.wrap(store);
    return new Proxy(gated, {
      get: (target, name) => Reflect.get(name === 'records' ? { records: countOpenings } : target, name),
    });
  });
  const { node } = fixture;
  const faulty = (id: string) => {
    const batch = batchOf(['beside it', id]);
    batch.vectors[5] = Number.NaN;
    return batch;
  };
  gate.shut();
  const first = node.upsert({ shard: specOf(1), batch: batchOf(['first']) });
  while (gate.reached === 0) await new Promise(setImmediate);
  const writes = [
    node.upsert({ shard: specOf(1), batch: batchOf(['a']) }),
    node.upsert({ shard: specOf(1), batch: faulty('x') }),
    node.upsert({ shard: specOf(1), batch: batchOf(['b'], 7) }),
    node.delete({ shard: specOf(1), ids: ['first'] }),
    node.upsert({ shard: specOf(1), batch: batchOf(['c']) }),
    node.upsert({ shard: specOf(1), batch: faulty('y') }),
    node.upsert({ shard: specOf(1), batch: batchOf(['a'], 2) }),
  ];
  while (node.stats().queuedRequests < writes.length) await new Promise(setImmediate);
  gate.open();
  await first;
  const outcomes = await Promise.allSettled(writes);
  expect(
    outcomes.map((outcome) =>
      outcome.status === 'rejected'
        ? outcome.reason.code
        : [outcome.value.upserted, outcome.value.deleted, outcome.value.created],
    ),
  ).toEqual([[1, 0, 1], 'INTERNAL', [1, 0, 1], [0, 1, -1], [1, 0, 1], 'INTERNAL', [1, 0, 0]]);
  await expect(node.upsert({ shard: specOf(1), batch: faulty('z') })).rejects.toMatchObject({ code: 'INTERNAL' });
  await node.upsert({ shard: specOf(1), batch: batchOf(['d']) });
  expect(openings).toBe(1);
  expect(node.stats()).toMatchObject({ queuedRequests: 0, queuedBytes: 0, records: 4 });

  const wanted = ['a', 'b', 'c', 'd', 'first', 'beside it', 'x', 'y', 'z'];
  const { items: stored } = await node.fetch({ shard: specOf(1), ids: wanted });
  expect(stored.map(({ id, values, metadata }) => [id, [...values], JSON.parse(metadata)])).toEqual([
    ['a', [1, 1, 2, 1], { id: 'a', seed: 2 }],
    ['b', [1, 1, 7, 1], { id: 'b', seed: 7 }],
    ['c', [1, 1, 1, 1], { id: 'c', seed: 1 }],
    ['d', [1, 1, 1, 1], { id: 'd', seed: 1 }],
  ]);
  // The log contains what was in memory.
  await fixture.crash();
  expect((await fixture.node.fetch({ shard: specOf(1), ids: wanted })).items).toEqual(stored);
  expect(fixture.halts).toEqual([]);
});

test('a write that waited past its deadline is refused when its turn comes; the others of its group are stored', async () => {
  const clock = new ManualClock();
  fixture = await shardFixture({}, gate.wrap, clock);
  const { node } = fixture;
  gate.shut();
  const first = node.upsert({ shard: specOf(1), batch: batchOf(['a']), waitMs: 10 });
  while (gate.reached === 0) await new Promise(setImmediate);
  const late = Promise.allSettled([
    node.upsert({ shard: specOf(1), batch: batchOf(['late']), waitMs: 10 }),
    node.delete({ shard: specOf(1), ids: ['a'], waitMs: 10 }),
  ]);
  const inTime = node.upsert({ shard: specOf(1), batch: batchOf(['b']), waitMs: 11 });
  while (node.stats().queuedRequests < 3) await new Promise(setImmediate);
  clock.advance(10);
  gate.open();
  // Its turn had come, so it gets its real outcome, even though late.
  await first;
  expect((await late).map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual([
    'UNAVAILABLE',
    'UNAVAILABLE',
  ]);
  expect((await inTime).head.seq).toBe(2);
  expect(await ids(specOf(1), ['a', 'b', 'late'])).toEqual(['a', 'b']);
  expect(node.stats()).toMatchObject({ queuedRequests: 0, queuedBytes: 0 });
});

test('writes count with all their bytes while they wait', async () => {
  fixture = await shardFixture({}, gate.wrap);
  const { node } = fixture;
  gate.shut();
  const first = node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  while (gate.reached === 0) await new Promise(setImmediate);
  const firstBytes = Buffer.byteLength(`a${JSON.stringify({ id: 'a', seed: 1 })}`) + 4 * 4;
  expect(node.stats().queuedBytes).toBe(firstBytes);
  const long = Array.from({ length: 3 }, (_, at) => String(at).padEnd(170, 'é'));
  const deleted = node.delete({ shard: specOf(1), ids: long });
  while (node.stats().queuedRequests === 0) await new Promise(setImmediate);
  expect(node.stats().queuedBytes).toBe(firstBytes + 3 * (1 + 169 * 2));
  gate.open();
  await Promise.all([first, deleted]);
  expect(node.stats().queuedBytes).toBe(0);
});

test('a shard whose worker ended during an append reopens only when that append is over, and shows it', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let appends = 0;
  fixture = await shardFixture(
    {},
    withAppend(async (entry, real) => {
      appends++;
      if (appends === 2) await held;
      return real.append(entry);
    }),
  );
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  const write = fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) });
  while (appends < 2) await new Promise(setImmediate);
  await endShardWorkers();
  await expect(fixture.node.fetch({ shard: specOf(1), ids: ['a'] })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const read = ids();
  await untilStoreIdle();
  release();
  expect((await write).head.seq).toBe(2);
  expect(await read).toEqual(['a', 'b']);
  expect(await ids()).toEqual(['a', 'b']);
  expect((await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['c']) })).head.seq).toBe(3);
});
