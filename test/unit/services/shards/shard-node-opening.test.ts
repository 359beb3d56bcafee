import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { isInvalidHead, type ShardHead } from '../../../../lib/shard/head.ts';
import type { ShardSpec } from '../../../../lib/shard/spec.ts';
import type { ContradictionStore } from '../../../../store/contradictions.ts';
import type { LogEntry } from '../../../../store/log.ts';
import { type Store, StoreError } from '../../../../store/port.ts';
import { entry } from '../../../contract/store-rows.ts';
import { float32Bytes } from '../../../support/intruder.ts';
import { batchOf, type ShardFixture, shardFixture, specOf } from '../../../support/shard-fixture.ts';
import { tamperWithRecord } from '../../../support/stored-record.ts';
import { TamperedRows } from '../../../support/tampered-rows.ts';
import { until } from '../../../support/until.ts';

let fixture: ShardFixture;
afterEach(() => fixture.end());

const numbered = (count: number, prefix = 'r') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
const query = (exact = false) => ({
  vector: Float32Array.of(1, 7, 1, 1 / 7),
  topK: 5,
  filter: null,
  includeValues: false,
  includeMetadata: true,
  scoreThreshold: null,
  exact,
});

test('a crash loses nothing acknowledged and gives the same root', async () => {
  fixture = await shardFixture();
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(500)) });
  const { head } = await fixture.node.delete({ shard: specOf(1), ids: ['r3', 'r4'] });
  await fixture.crash();
  expect(await fixture.node.head(specOf(1))).toEqual(head);
  expect((await fixture.node.fetch({ shard: specOf(1), ids: ['r2', 'r3', 'r4'] })).items.map(({ id }) => id)).toEqual([
    'r2',
  ]);
  expect(await fixture.node.head(specOf(1))).toEqual(head);
  expect(fixture.halts).toEqual([]);
});

test("heads of a collection's unopened shards are read from the log together", async () => {
  fixture = await shardFixture();
  const shards = Array.from({ length: 64 }, (_, index) => specOf(1, { index, of: 64 }));
  const { log } = fixture.store;
  const written = entry(`${shards[3]!.collectionId}.3`, 1);
  await log.append(written);
  const [read, reads] = [log.heads, [] as string[]];
  log.heads = (collectionId) => {
    reads.push(collectionId);
    return read(collectionId);
  };
  const heads = await Promise.all(shards.map((shard) => fixture.node.head(shard)));
  expect(heads[3]).toEqual(written.head);
  expect(heads.filter(({ seq }) => seq > 0)).toHaveLength(1);
  expect(reads).toHaveLength(2);
});

test('a large shard comes back from its checkpoint, with the log after it', async () => {
  fixture = await shardFixture();
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(3_000)) });
  await fixture.restart();
  expect((await fixture.store.checkpoints.list(`${specOf(1).collectionId}.0`)).map(({ seq }) => seq)).toEqual([1]);
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(10, 'late')) });
  const before = await fixture.node.query({ shard: specOf(1), query: query() });
  const { head } = await fixture.node.delete({ shard: specOf(1), ids: ['r0'] });
  await fixture.crash();
  const { items } = await fixture.node.query({ shard: specOf(1), query: query() });
  expect(items).toEqual(before.items.filter(({ id }) => id !== 'r0'));
  expect(await fixture.node.head(specOf(1))).toEqual(head);
  expect((await fixture.node.fetch({ shard: specOf(1), ids: ['r0', 'late9'] })).items.map(({ id }) => id)).toEqual([
    'late9',
  ]);
  expect(fixture.halts).toEqual([]);
});

test('ids of an earlier version that no request can name are reported when their shard opens', async () => {
  fixture = await shardFixture();
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a', '\0', '\0x', '\0space\0', '\0space\0b']) });
  await fixture.restart();
  await fixture.node.fetch({ shard: specOf(1), ids: ['a'] });
  expect(fixture.warnings).toMatchObject([
    { records: 3, msg: 'holds records whose ids begin with U+0000, which no request can name' },
  ]);
  expect((await fixture.node.query({ shard: specOf(1), query: query() })).items.map(({ id }) => id)).toEqual(['a']);
});

test('shards that were open are reopened at the start', async () => {
  fixture = await shardFixture();
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  await fixture.restart();
  expect(fixture.node.stats().open).toBe(0);
  fixture.node.start();
  expect(fixture.node.stats().reopening).toBe(1);
  while (fixture.node.stats().reopening > 0) await new Promise(setImmediate);
  expect(fixture.node.stats().open).toBe(1);
});

test('idle shards close near the memory limit, and reopen with their content', async () => {
  fixture = await shardFixture({ PROVEC_MEMORY_LIMIT_MB: '64' });
  const dimensions = 2_048;
  const wide = (number: number) => specOf(number, { dimensions });
  for (let number = 1; number <= 16; number++) {
    const vectors = new Float32Array(500 * dimensions).fill(number);
    await fixture.node.upsert({
      shard: wide(number),
      batch: {
        ids: numbered(500),
        dimensions,
        vectors,
        metadata: numbered(500).map(() => '{}'),
      },
    });
  }
  expect(fixture.node.stats().open).toBeLessThan(16);
  expect(fixture.node.stats().bytes).toBeLessThan(64 * 2 ** 20);
  const { items } = await fixture.node.fetch({ shard: wide(1), ids: ['r499'] });
  expect(items[0]!.values.every((value) => value === 1)).toBe(true);
});

test('a record changed on disk is noticed when the shard opens, and recompute names it', async () => {
  fixture = await shardFixture();
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(50)) });
  await fixture.restart();
  await tamperWithRecord(fixture.store, `${specOf(1).collectionId}.0`, 'r7', (record) => {
    record.vector[0] = 2;
  });
  await fixture.node.fetch({ shard: specOf(1), ids: ['r7'] });
  expect(fixture.halts).toMatchObject([{ collectionId: specOf(1).collectionId }]);
  const recomputed = await fixture.node.recomputation.begin(specOf(1));
  expect(recomputed.differences.map(({ id }) => id)).toEqual(['r7']);
  expect(Buffer.compare(recomputed.head.hash, recomputed.recorded.hash)).not.toBe(0);
});

test('a contradiction is stored before the shard takes a write, or the shard does not open', async () => {
  let tries = 0;
  const contradictions = (store: Store): ContradictionStore => ({
    list: (id) => store.contradictions.list(id),
    clear: (id) => store.contradictions.clear(id),
    async record(shard, contradiction) {
      tries++;
      if (tries === 1) throw new StoreError('unavailable', 'out of reach');
      await store.contradictions.record(shard, contradiction);
    },
  });
  fixture = await shardFixture({}, (store) => ({ ...store, contradictions: contradictions(store) }));
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(50)) });
  await fixture.restart();
  await tamperWithRecord(fixture.store, `${specOf(1).collectionId}.0`, 'r7', (record) => {
    record.vector[0] = 2;
  });
  await expect(fixture.node.upsert({ shard: specOf(1), batch: batchOf(['new']) })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  expect((await fixture.node.head(specOf(1))).seq).toBe(1);
  expect((await fixture.node.fetch({ shard: specOf(1), ids: ['r7'] })).items).toHaveLength(1);
  const found = [{ reason: expect.any(String) }];
  expect(await fixture.store.contradictions.list(specOf(1).collectionId)).toMatchObject(found);
  await fixture.restart();
  await fixture.node.fetch({ shard: specOf(1), ids: ['r7'] });
  expect(tries).toBe(3);
  expect(await fixture.store.contradictions.list(specOf(1).collectionId)).toMatchObject(found);
});

/** A shard whose record `r7` was changed in the store while the shard was closed. */
async function changedShard(spec: ShardSpec): Promise<TamperedRows> {
  fixture = await shardFixture();
  await fixture.node.upsert({ shard: spec, batch: batchOf(numbered(50)) });
  await fixture.restart();
  const changed = new TamperedRows(fixture.folder, spec.collectionId);
  const vector = float32Bytes([2, 0, 0, 0]);
  expect(changed.records(`UPDATE records SET vector = :vector WHERE id = CAST('r7' AS BLOB)`, { vector })).toBe(1);
  return changed;
}

test('a contradiction found at opening is remembered, even if the store is made to forget it, until an operator decides', async () => {
  const spec = specOf(1);
  await changedShard(spec);
  await fixture.node.fetch({ shard: spec, ids: ['r7'] });
  await fixture.store.contradictions.clear(spec.collectionId);
  const { head } = await fixture.node.upsert({ shard: spec, batch: batchOf(['later']) });
  expect(isInvalidHead((await fixture.node.shardCache.headAt(spec, head.seq))!)).toBe(true);
  expect((await fixture.node.recomputation.begin(spec)).contradiction).toMatch(/do not match the root/);
  await fixture.node.resume(spec);
  const resumed = await fixture.node.head(spec);
  expect(await fixture.node.shardCache.headAt(spec, resumed.seq)).toEqual(resumed);
  expect((await fixture.node.recomputation.begin(spec)).contradiction).toBeNull();
});

test('a write over changed bytes hides nothing: whatever is removed from the store, each opening finds it, until an operator decides', async () => {
  const spec = specOf(1);
  const changed = await changedShard(spec);
  for (const [life, end] of (['restart', 'crash', 'restart'] as const).entries()) {
    fixture.halts.length = 0;
    await fixture.node.upsert({ shard: spec, batch: batchOf([`after ${life}`]) });
    expect(fixture.halts).toHaveLength(1);
    expect(await fixture.node.head(spec)).toMatchObject({ contradicted: true });
    await fixture[end]();
    expect(changed.log('DELETE FROM contradictions')).toBe(1);
  }
  await fixture.node.resume(spec);
  await fixture.store.contradictions.clear(spec.collectionId);
  await fixture.node.upsert({ shard: spec, batch: batchOf(['decided']) });
  fixture.halts.length = 0;
  await fixture.restart();
  expect(await fixture.node.head(spec)).not.toHaveProperty('contradicted');
  expect((await fixture.node.fetch({ shard: spec, ids: ['r7'] })).items).toHaveLength(1);
  expect(fixture.halts).toEqual([]);
});

test('recompute of an open shard reports what was changed in its stored bytes', async () => {
  fixture = await shardFixture();
  const key = `${specOf(1).collectionId}.0`;
  const { head } = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(50)) });
  while ((await fixture.store.records.appliedSeq(key)) < head.seq) await new Promise(setImmediate);
  expect((await fixture.node.recomputation.begin(specOf(1))).head).toEqual(head);
  await tamperWithRecord(fixture.store, key, 'r7', (record) => {
    record.vector[0] = 2;
  });
  await tamperWithRecord(fixture.store, key, 'r8', (record) => {
    record.metadata = Buffer.from('{"id":"r8","seed":2}');
  });
  await tamperWithRecord(fixture.store, key, 'r9', () => null);
  const { differences } = await fixture.node.recomputation.begin(specOf(1));
  expect(differences.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
    { id: 'r7', what: 'values' },
    { id: 'r8', what: 'metadata' },
    { id: 'r9', what: 'missing' },
  ]);
});

test('recompute continues during writes, and extend reaches a later cut exactly', async () => {
  fixture = await shardFixture();
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(200)) });
  const { session, head } = await fixture.node.recomputation.begin(specOf(1));
  const second = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['r5', 'new'], 3) });
  const third = await fixture.node.delete({ shard: specOf(1), ids: ['r6'] });
  expect(head.seq).toBe(1);
  expect((await fixture.node.recomputation.extend(session, second.head.seq)).head).toEqual(second.head);
  expect((await fixture.node.recomputation.extend(session, third.head.seq)).head).toEqual(third.head);
});

test('a dropped collection does not come back', async () => {
  fixture = await shardFixture();
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(20)) });
  await fixture.store.catalog.dropCollection(specOf(1).collectionId, true);
  await fixture.node.drop(specOf(1).collectionId);
  await expect(fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) })).rejects.toMatchObject({
    code: 'COLLECTION_NOT_FOUND',
  });
  expect(await fixture.store.log.head(`${specOf(1).collectionId}.0`)).toBeNull();
  expect((await fixture.store.usage.read(specOf(1).accountId, new Date().toISOString().slice(0, 7))).vectors).toBe(0);
});

/** An entry after `head` with bytes that no node wrote. */
const garbled = ({ seq, version, count, hash, type }: ShardHead): LogEntry => ({
  shard: `${specOf(1).collectionId}.0`,
  seq: seq + 1,
  epoch: 0,
  entryId: randomUUID(),
  kind: 'write',
  head: { seq: seq + 1, version: version + 1, count: count + 1, hash: hash.map((byte) => byte ^ 1), type },
  tally: null,
  body: Buffer.from('garbled'),
});

test('a log entry that does not decode is skipped once an operator accepts what the shard holds without it', async () => {
  fixture = await shardFixture();
  const key = `${specOf(1).collectionId}.0`;
  const { head } = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(20)) });
  await fixture.restart();
  await fixture.store.log.append(garbled(head));
  await fixture.node.fetch({ shard: specOf(1), ids: ['r1'] });
  const later = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['later']) });
  expect(await fixture.store.contradictions.list(specOf(1).collectionId)).toHaveLength(1);
  await fixture.restart();
  expect(await fixture.store.records.appliedSeq(key)).toBe(1);

  await fixture.node.resume(specOf(1));
  await fixture.store.contradictions.clear(specOf(1).collectionId);
  expect(await fixture.store.records.appliedSeq(key)).toBe(later.head.seq + 1);
  await fixture.restart();
  expect((await fixture.node.fetch({ shard: specOf(1), ids: ['r1', 'later'] })).items.map(({ id }) => id)).toEqual([
    'r1',
    'later',
  ]);
  const { recorded, head: recomputed, differences } = await fixture.node.recomputation.begin(specOf(1));
  expect(recomputed).toEqual(recorded);
  expect(differences).toEqual([]);
  expect(await fixture.store.contradictions.list(specOf(1).collectionId)).toEqual([]);
});

test('a log with missing entries is read up to the gap, is a contradiction, and takes no writes', async () => {
  fixture = await shardFixture();
  const key = `${specOf(1).collectionId}.0`;
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(numbered(20)) });
  await fixture.restart();
  for (let seq = 2; seq <= 4; seq++) {
    const head = (await fixture.store.log.head(key))!;
    await fixture.store.log.append({ ...garbled(head), kind: 'void', body: new Uint8Array(0) });
  }
  await fixture.store.log.trim(key, 3);
  expect((await fixture.node.fetch({ shard: specOf(1), ids: ['r1'] })).items).toHaveLength(1);
  const { head, recorded } = await fixture.node.recomputation.begin(specOf(1));
  expect([head.seq, recorded.seq]).toEqual([1, 4]);
  await expect(fixture.node.upsert({ shard: specOf(1), batch: batchOf(['new']) })).rejects.toMatchObject({
    code: 'INTERNAL',
    message: expect.stringContaining('backup'),
  });
  expect(await fixture.store.contradictions.list(specOf(1).collectionId)).toMatchObject([
    { reason: 'The log ends at 1, but its head says 4.' },
  ]);
});

test('an opening that takes longer than its caller waits continues by itself', async () => {
  let open: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    open = resolve;
  });
  let isHeld = false;
  const heldBack = (store: Store): Store => ({
    ...store,
    catalog: {
      ...store.catalog,
      async getCollection(id) {
        if (isHeld) await held;
        return store.catalog.getCollection(id);
      },
    },
  });
  fixture = await shardFixture({}, heldBack);
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  await fixture.crash();
  isHeld = true;
  const impatient = [
    fixture.node.fetch({ shard: specOf(1), ids: ['a'], openMaxMs: 20 }),
    fixture.node.query({ shard: specOf(1), query: query(), openMaxMs: 20 }),
    fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']), waitMs: 60_000, openMaxMs: 20 }),
    fixture.node.delete({ shard: specOf(1), ids: ['a'], waitMs: 60_000, openMaxMs: 20 }),
  ];
  for (const { reason } of (await Promise.allSettled(impatient)) as PromiseRejectedResult[])
    expect(reason).toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      message: 'Shard 0 of the collection is being opened; try again.',
      shards: [0],
    });
  const ready = fixture.node.ready(specOf(1));
  open();
  await ready;
  const { items } = await fixture.node.fetch({ shard: specOf(1), ids: ['a', 'b'], openMaxMs: 0 });
  expect(items.map(({ id }) => id)).toEqual(['a']);
});

test('a shard that is being closed is waited for as long as its opening may take', async () => {
  let end: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  let isHeld = false;
  let appending = 0;
  const heldBack = (store: Store): Store => {
    const log = Object.create(store.log) as Store['log'];
    log.append = async (entry) => {
      appending++;
      if (isHeld) await held;
      return store.log.append(entry);
    };
    return { ...store, log };
  };
  fixture = await shardFixture({}, heldBack);
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  isHeld = true;
  appending = 0;
  const write = fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) });
  await until('the write is under way', () => appending === 1);
  const forgotten = fixture.node.forget(specOf(1).collectionId);
  await expect(fixture.node.fetch({ shard: specOf(1), ids: ['a'], openMaxMs: 20 })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    message: 'Shard 0 of the collection is being closed; try again.',
  });
  end();
  await Promise.all([write, forgotten]);
  const { items } = await fixture.node.fetch({ shard: specOf(1), ids: ['a', 'b'], openMaxMs: 60_000 });
  expect(items.map(({ id }) => id)).toEqual(['a', 'b']);
});
