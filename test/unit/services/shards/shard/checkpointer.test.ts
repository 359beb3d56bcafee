import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pino from 'pino';
import { FairShares } from '../../../../../lib/admission/fair-share.ts';
import { EMPTY_HEAD } from '../../../../../lib/shard/head.ts';
import { shardKey } from '../../../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../../../lib/shard/spec.ts';
import { type ActorEvents, ShardActor } from '../../../../../services/shards/shard/actor.ts';
import { Checkpointer } from '../../../../../services/shards/shard/checkpointer.ts';
import { Materialiser } from '../../../../../services/shards/shard/materialiser.ts';
import { openShard } from '../../../../../services/shards/shard/open.ts';
import { ShardWorker, WorkerLost } from '../../../../../services/shards/worker/pool.ts';
import type { CheckpointStore } from '../../../../../store/checkpoints.ts';
import { type Store, StoreError } from '../../../../../store/port.ts';
import { batchOf, type ShardFixture, shardFixture, specOf } from '../../../../support/shard-fixture.ts';
import { until } from '../../../../support/until.ts';

const MIB = 2 ** 20;
const RESERVE_BYTES = 100 * MIB;
const SPEC = specOf(1);
const KEY = shardKey(SPEC.collectionId, 0);
/** Enough for a checkpoint. */
const MANY = Array.from({ length: 2_500 }, (_, at) => `r${at}`);
const SHORT_TAIL_BYTES = 65 * MIB;
const URGENT_TAIL_BYTES = 300 * MIB;
const NEVER_MS = Number.POSITIVE_INFINITY;

const log = pino({ level: 'silent' });
/** What openings logged. */
const lines: Record<string, unknown>[] = [];
const openingLog = pino({ level: 'error' }, { write: (line) => void lines.push(JSON.parse(line)) });
const clock = { wallMs: () => 0, monotonicMs: () => nowMs };
let nowMs: number;
let fixture: ShardFixture;
let worker: ShardWorker;
let checkpointer: Checkpointer;
let actor: ShardActor;
/** Staged folders, in order. */
let staged: string[];
/** Runs between staging a folder and writing to it. */
let onStage: (folder: string) => Promise<void>;
let freeBytes: number;

beforeEach(async () => {
  nowMs = 1_000;
  staged = [];
  lines.length = 0;
  onStage = async () => undefined;
  freeBytes = 1_000 * MIB;
  fixture = await shardFixture();
  worker = new ShardWorker(log);
  const { checkpoints } = fixture.store;
  const store: Store = {
    ...fixture.store,
    freeBytes: async () => freeBytes,
    checkpoints: {
      async stage(key) {
        const folder = await checkpoints.stage(key);
        staged.push(folder);
        await onStage(folder);
        return folder;
      },
      discard: (folder) => checkpoints.discard(folder),
      put: (...given) => checkpoints.put(...given),
      prune: (...given) => checkpoints.prune(...given),
      list: (key) => checkpoints.list(key),
      fetch: (...given) => checkpoints.fetch(...given),
      release: (folder) => checkpoints.release(folder),
    },
  };
  checkpointer = new Checkpointer(store, new Materialiser(store, log), clock, RESERVE_BYTES);
  actor = await openedActor(SPEC, store);
});

async function openedActor(spec: ShardSpec, store: Store = fixture.store): Promise<ShardActor> {
  const { head } = await openShard(
    { spec, key: shardKey(spec.collectionId, spec.index), recorded: EMPTY_HEAD, worker, store, log },
    clock,
  );
  const events: ActorEvents = {
    committed: ({ key }, bytes) => checkpointer.committed(key, bytes),
    resized: (resized, size) => {
      resized.size = size;
    },
    broken: (_, reason) => {
      throw new Error(reason);
    },
  };
  return new ShardActor(
    { spec, worker, head, epoch: 0, holds: () => true, barrier: null },
    { log: store.log, clock, events, writes: new FairShares(2, Number.POSITIVE_INFINITY), keepsWrites: false },
  );
}
afterEach(async () => {
  await worker.end();
  await fixture.end();
});

const upsert = (ids: string[], seed = 1) => actor.write({ kind: 'upsert', batch: batchOf(ids, seed) }, NEVER_MS);
const remove = (ids: string[]) => actor.write({ kind: 'delete', ids }, NEVER_MS);
const seqs = async () => (await fixture.store.checkpoints.list(KEY)).map(({ seq }) => seq);
const firstSeq = () => fixture.store.log.firstSeq(KEY);
const spoil = async (folder: string) => writeFileSync(join(folder, 'records.bin'), '');

/** Changes one byte of the checkpoint at `seq`. */
async function damage(seq: number): Promise<void> {
  const file = join((await fixture.store.checkpoints.fetch(KEY, seq))!.folder, 'records.bin');
  const bytes = readFileSync(file);
  bytes[bytes.length - 100] ^= 1;
  writeFileSync(file, bytes);
}

/** Opens the shard again in another worker, from a store with `changes`. */
async function reopened(changes: Partial<Store> = {}, other = new ShardWorker(log)) {
  try {
    return await openShard(
      {
        spec: SPEC,
        key: KEY,
        recorded: (await fixture.store.log.head(KEY))!,
        worker: other,
        store: { ...fixture.store, ...changes },
        log: openingLog,
      },
      clock,
    );
  } finally {
    await other.end();
  }
}

test('a failed checkpoint leaves nothing, and is retried after a growing pause', async () => {
  checkpointer.opened(actor, 0, URGENT_TAIL_BYTES);
  await upsert(MANY);
  onStage = spoil;
  for (const pauseMs of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000)) {
    expect(checkpointer.isDue(actor)).toBe(true);
    await expect(checkpointer.run(actor)).rejects.toThrow();
    nowMs += pauseMs - 1;
    expect(checkpointer.isDue(actor)).toBe(false);
    nowMs += 1;
  }
  expect(staged).toHaveLength(11);
  expect(staged.some((folder) => existsSync(folder))).toBe(false);
  onStage = async () => undefined;
  await checkpointer.run(actor);
  expect(await seqs()).toEqual([1]);
  expect(checkpointer.isDue(actor)).toBe(false);
  checkpointer.committed(KEY, URGENT_TAIL_BYTES + 1);
  expect(checkpointer.isDue(actor)).toBe(true);
});

test('closing the shard retries during the pause too', async () => {
  checkpointer.opened(actor, 0, URGENT_TAIL_BYTES);
  await upsert(MANY);
  onStage = spoil;
  await expect(checkpointer.run(actor)).rejects.toThrow();
  onStage = async () => undefined;
  expect(checkpointer.isDue(actor)).toBe(false);
  await checkpointer.run(actor);
  expect(await seqs()).toEqual([1]);
});

test('the pause outlives the opening, so that a checkpoint that ends its worker is not retried at once', async () => {
  checkpointer.opened(actor, 0, URGENT_TAIL_BYTES);
  await upsert(MANY);
  onStage = spoil;
  await expect(checkpointer.run(actor)).rejects.toThrow();
  await checkpointer.closed(KEY);
  checkpointer.opened(actor, 0, URGENT_TAIL_BYTES);
  expect(checkpointer.isDue(actor)).toBe(false);
  nowMs += 1_000;
  expect(checkpointer.isDue(actor)).toBe(true);
});

test("nothing is staged if it would use the disk's reserve", async () => {
  checkpointer.opened(actor, 0, URGENT_TAIL_BYTES);
  await upsert(MANY);
  // The index is still being built, so its size only grows.
  freeBytes = RESERVE_BYTES + (await worker.request('size', { key: KEY })).bytes - 1;
  await expect(checkpointer.run(actor)).rejects.toMatchObject({ kind: 'capacity' });
  expect(staged).toEqual([]);
  expect(checkpointer.isDue(actor)).toBe(false);
  freeBytes += 10 * MIB;
  await checkpointer.run(actor);
  expect(await seqs()).toEqual([1]);
});

test('a shard whose newest checkpoint is damaged opens from the one before it and the log since', async () => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  await checkpointer.run(actor);
  expect(await firstSeq()).toBeNull();
  await upsert(['second'], 2);
  await checkpointer.run(actor);
  await upsert(['third', 'r7'], 3);
  const { head } = await remove(['r8']);
  expect(await seqs()).toEqual([2, 1]);
  expect(await firstSeq()).toBe(2);
  await damage(2);
  expect(await reopened()).toMatchObject({ head, checkpointSeq: 1, contradiction: null });
  expect(await seqs()).toEqual([1]);
  await damage(1);
  expect(await reopened()).toMatchObject({ head, checkpointSeq: 0, contradiction: null });
});

/** The store's checkpoints with another `fetch`. */
function withFetch(fetch: CheckpointStore['fetch']): Pick<Store, 'checkpoints'> {
  const { checkpoints } = fixture.store;
  const get = (target: CheckpointStore, name: string | symbol) =>
    name === 'fetch' ? fetch : Reflect.get(target, name).bind(target);
  return { checkpoints: new Proxy(checkpoints, { get }) };
}

test('a shard opens from its records if only the checkpoint cannot be read, but not while the store is out of reach', async () => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  await checkpointer.run(actor);
  const fail = () => Promise.reject(new StoreError('unavailable', 'Not now.'));
  await expect(reopened({ ...withFetch(fail), reach: fail })).rejects.toMatchObject({ kind: 'unavailable' });
  expect(lines).toEqual([]);
  expect(await reopened(withFetch(fail))).toMatchObject({ head: actor.head, checkpointSeq: 0, contradiction: null });
  expect(lines).toMatchObject([{ shard: KEY, seq: 1 }]);
});

test('a worker that ends while it loads a checkpoint is not reported as a damaged checkpoint', async () => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  await checkpointer.run(actor);
  const { checkpoints } = fixture.store;
  const ending = new ShardWorker(log);
  const fetch: CheckpointStore['fetch'] = async (...given) => {
    await ending.end();
    return checkpoints.fetch(...given);
  };
  await expect(reopened(withFetch(fetch), ending)).rejects.toThrow(WorkerLost);
  expect(lines).toEqual([]);
});

test('the log before the older of two checkpoints is trimmed', async () => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  for (const [round, trimmedTo] of [null, 2, 3, 4].entries()) {
    await checkpointer.run(actor);
    expect(await firstSeq()).toBe(trimmedTo);
    await upsert(['again'], round);
  }
  expect(await seqs()).toEqual([4, 3]);
});

test('a shard that shrank needs no checkpoint, and its log is trimmed to what is materialised', async () => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  await checkpointer.run(actor);
  await remove(MANY.slice(1));
  await upsert(['last'], 2);
  await checkpointer.run(actor);
  expect(await firstSeq()).toBeNull();
  expect(await seqs()).toEqual([]);
  expect(await reopened()).toMatchObject({ head: actor.head, checkpointSeq: 0, contradiction: null });
});

test('a shard that was emptied leaves no checkpoint, but not while its log is pinned', async () => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  await checkpointer.run(actor);
  await upsert(['again'], 2);
  await checkpointer.run(actor);
  expect(await seqs()).toEqual([2, 1]);
  await remove([...MANY, 'again']);
  const unpin = checkpointer.pin(KEY);
  await checkpointer.run(actor);
  expect(await seqs()).toEqual([2, 1]);
  unpin();
  await checkpointer.run(actor);
  expect(await seqs()).toEqual([]);
  expect(await reopened()).toMatchObject({ head: actor.head, contradiction: null });
});

test('what a running checkpoint may still write counts for the next one', async () => {
  const other = specOf(2);
  const second = await openedActor(other);
  checkpointer.opened(actor, 0, 0);
  checkpointer.opened(second, 0, 0);
  await upsert(MANY);
  await second.write({ kind: 'upsert', batch: batchOf(MANY) }, NEVER_MS);
  while ((await worker.request('size', { key: KEY })).unindexed > 0) await new Promise(setImmediate);
  while ((await worker.request('size', { key: second.key })).unindexed > 0) await new Promise(setImmediate);
  const sizes = await Promise.all([KEY, second.key].map((key) => worker.request('size', { key })));
  // Room for one of them, but not for both.
  freeBytes = RESERVE_BYTES + sizes[0].bytes + sizes[1].bytes - 1;
  let release: () => void = () => undefined;
  onStage = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  const first = checkpointer.run(actor);
  await until('the first checkpoint is under way', () => staged.length === 1);
  await expect(checkpointer.run(second)).rejects.toMatchObject({ kind: 'capacity' });
  expect(staged).toHaveLength(1);
  release();
  await first;
  onStage = async () => undefined;
  await checkpointer.run(second);
  expect(staged).toHaveLength(2);
});

test.each([
  { tail: 'short', bytes: SHORT_TAIL_BYTES, left: 2 },
  { tail: 'long', bytes: URGENT_TAIL_BYTES, left: null },
])('if no checkpoint is possible, a $tail log is trimmed to $left', async ({ bytes, left }) => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  await checkpointer.run(actor);
  await upsert(['second'], 2);
  checkpointer.committed(KEY, bytes);
  onStage = spoil;
  await expect(checkpointer.run(actor)).rejects.toThrow();
  expect(await firstSeq()).toBe(left);
  expect(await reopened()).toMatchObject({ head: actor.head, contradiction: null });
});

test('what an earlier process materialised and did not trim is trimmed at the opening', async () => {
  await upsert(['first']);
  await upsert(['second']);
  await new Materialiser(fixture.store, log).catchUp(KEY);
  await upsert(['third']);
  expect(await firstSeq()).toBe(1);
  checkpointer.opened(actor, 0, 0);
  await until('only what is not materialised is left', async () => (await firstSeq()) === 3);
});

test('what is written after an opening stays, even if the trim of the opening comes late', async () => {
  const [busy, old] = [await openedActor(specOf(2)), await openedActor(specOf(3))];
  await old.write({ kind: 'upsert', batch: batchOf(['a']) }, NEVER_MS);
  const materialiser = new Materialiser(fixture.store, log);
  await materialiser.catchUp(old.key);
  const { records } = fixture.store;
  const appliedSeq = records.appliedSeq.bind(records);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  records.appliedSeq = async (key) => {
    if (key === busy.key) await held;
    return appliedSeq(key);
  };
  for (const each of [busy, actor, old]) checkpointer.opened(each, 0, 0);
  await upsert(['first']);
  await materialiser.catchUp(KEY);
  release();
  // The trims run in the order of the openings.
  await until('the log of the last is trimmed', async () => (await fixture.store.log.firstSeq(old.key)) === null);
  expect(await firstSeq()).toBe(1);
});

test('forget waits for the trim of an opening', async () => {
  await upsert(['first']);
  await new Materialiser(fixture.store, log).catchUp(KEY);
  const stored = fixture.store.log;
  const audit = stored.audit.bind(stored);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  let isReached = false;
  stored.audit = async (...given) => {
    isReached = true;
    await held;
    return audit(...given);
  };
  checkpointer.opened(actor, 0, 0);
  await until('the trim audits the log', () => isReached);
  await checkpointer.closed(KEY);
  let isForgotten = false;
  const forgotten = checkpointer.forget(SPEC.collectionId).then(() => {
    isForgotten = true;
  });
  await new Promise(setImmediate);
  expect(isForgotten).toBe(false);
  release();
  await forgotten;
  expect(await firstSeq()).toBeNull();
});

test('nothing is trimmed while the log is pinned', async () => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  const unpin = checkpointer.pin(KEY);
  await checkpointer.run(actor);
  expect(await firstSeq()).toBe(1);
  unpin();
  await checkpointer.run(actor);
  expect(await firstSeq()).toBeNull();
});

test('a shard that closes during its checkpoint leaves no checkpoint and nothing staged', async () => {
  checkpointer.opened(actor, 0, 0);
  await upsert(MANY);
  let release: () => void = () => undefined;
  onStage = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  const run = checkpointer.run(actor);
  await until('the checkpoint is under way', () => staged.length === 1);
  const closed = checkpointer.closed(KEY);
  let isForgotten = false;
  const forgotten = checkpointer.forget(SPEC.collectionId).then(() => {
    isForgotten = true;
  });
  await new Promise(setImmediate);
  expect(isForgotten).toBe(false);
  release();
  await Promise.all([run, closed, forgotten]);
  expect(existsSync(staged[0])).toBe(false);
  expect(await seqs()).toEqual([]);
  expect(await firstSeq()).toBe(1);
});

test('a log that is replayed at every start is trimmed in the end, however short each run is', async () => {
  const text = 'x'.repeat(32 * 1024);
  const ids = Array.from({ length: 48 }, (_, at) => `r${at}`);
  const write = (life: number) => {
    const batch = batchOf(ids, life);
    return fixture.node.upsert({
      shard: specOf(2),
      batch: { ...batch, metadata: ids.map(() => JSON.stringify({ text })) },
    });
  };
  const other = shardKey(specOf(2).collectionId, 0);
  for (let life = 0; life < 4; life++) {
    await write(life);
    await fixture.crash();
  }
  await fixture.node.fetch({ shard: specOf(2), ids: ['r0'] });
  await until('the log is trimmed', async () => (await fixture.store.log.firstSeq(other)) !== 1);
});
