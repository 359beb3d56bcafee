import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pino from 'pino';
import type { ShardHead } from '../../../../../lib/shard/head.ts';
import { shardKey } from '../../../../../lib/shard/key.ts';
import { ShardMoved } from '../../../../../lib/shard/moved.ts';
import { SYSTEM_CLOCK } from '../../../../../lib/time/clock.ts';
import { Materialiser } from '../../../../../services/shards/shard/materialiser.ts';
import { followShard, openShard } from '../../../../../services/shards/shard/open.ts';
import { InlineWorker } from '../../../../simulation/ownership/inline-worker.ts';
import { batchOf, type ShardFixture, shardFixture, specOf } from '../../../../support/shard-fixture.ts';

const LOG = pino({ level: 'silent' });
const SPEC = specOf(1);
const KEY = shardKey(SPEC.collectionId, SPEC.index);

let fixture: ShardFixture;

beforeEach(async () => {
  fixture = await shardFixture();
});

afterEach(() => fixture.end());

const newWorker = () =>
  new InlineWorker(
    (run) => run(),
    (_op, result) => result,
  );
const open = (recorded: ShardHead) =>
  openShard({ spec: SPEC, key: KEY, recorded, worker: newWorker(), store: fixture.store, log: LOG }, SYSTEM_CLOCK);

test('an opening that others have overtaken accuses nobody', async () => {
  const { head } = await fixture.node.upsert({ shard: SPEC, batch: batchOf(['a', 'b'], 1) });
  const { head: newest } = await fixture.node.upsert({ shard: SPEC, batch: batchOf(['a', 'c'], 2) });
  await new Materialiser(fixture.store, LOG).catchUp(KEY);
  await expect(open(head)).rejects.toThrow(ShardMoved);
  expect(await fixture.store.contradictions.list(SPEC.collectionId)).toEqual([]);
  expect((await open(newest)).contradiction).toBeNull();
});

test('records that are ahead of a log which nobody has written to are a contradiction', async () => {
  const { head } = await fixture.node.upsert({ shard: SPEC, batch: batchOf(['a', 'b'], 1) });
  await new Materialiser(fixture.store, LOG).catchUp(KEY);
  const changes = [{ id: 'a', record: null }];
  await fixture.store.records.apply(KEY, head.seq, head.seq + 1, changes);
  expect((await open(head)).contradiction).toContain('but its head says');
  expect(await fixture.store.contradictions.list(SPEC.collectionId)).toHaveLength(1);
});

test('a copy of records that the log has left behind has the version that was recorded there', async () => {
  const { head } = await fixture.node.upsert({ shard: SPEC, batch: batchOf(['a', 'b'], 1) });
  const materialiser = new Materialiser(fixture.store, LOG);
  await materialiser.catchUp(KEY);
  const { records, log } = fixture.store;
  const scan = async (key: typeof KEY) => {
    const { batches, ...scanned } = await records.scan(key);
    const read: unknown[] = [];
    for await (const batch of batches) read.push(batch);
    const { head: newest } = await fixture.node.upsert({ shard: SPEC, batch: batchOf(['c'], 2) });
    await materialiser.catchUp(KEY);
    await log.trim(KEY, newest.seq);
    return { ...scanned, batches: read };
  };
  const store = { ...fixture.store, records: Object.assign(Object.create(records), { scan }) };
  const copy = await followShard({ spec: SPEC, key: KEY, recorded: head, worker: newWorker(), store, log: LOG }, null);
  expect(copy).toMatchObject({ head: { seq: head.seq, version: head.version } });
});

test('a copy of records that the log goes on from while it is asked about them has the version that was recorded there', async () => {
  const { head: old } = await fixture.node.upsert({ shard: SPEC, batch: batchOf(['a', 'b'], 1) });
  const { head } = await fixture.node.upsert({ shard: SPEC, batch: batchOf(['c'], 2) });
  await new Materialiser(fixture.store, LOG).catchUp(KEY);
  const { log } = fixture.store;
  let newest = head;
  const read = async (...asked: Parameters<typeof log.read>) => {
    const entries = await log.read(...asked);
    if (newest === head) newest = (await fixture.node.upsert({ shard: SPEC, batch: batchOf(['d'], 3) })).head;
    return entries;
  };
  const store = { ...fixture.store, log: Object.assign(Object.create(log), { read }) };
  const copy = await followShard({ spec: SPEC, key: KEY, recorded: old, worker: newWorker(), store, log: LOG }, null);
  expect(newest.version).toBe(head.version + 1);
  expect(copy).toMatchObject({ head: newest });
});
