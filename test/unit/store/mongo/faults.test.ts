import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { openMongoStore } from '../../../../store/mongo/store.ts';
import { type Store, StoreError } from '../../../../store/port.ts';
import { entry, head, newBlock, newCollection, put, recordsOf } from '../../../contract/store-rows.ts';
import { MongoRelay } from '../../../support/mongo-relay.ts';
import {
  hasOwnMongoServer,
  isMongoThere,
  type MortalMongoServer,
  ownDatabase,
  ownMongoServer,
} from '../../../support/mongo-server.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';
import { until } from '../../../support/until.ts';

const CALL_TIMEOUT_MS = 1_500;
const MONTH = '2026-11';

if (isMongoThere(hasOwnMongoServer)) {
  describe('MongoDB: a server that dies or hangs', () => {
    let server: MortalMongoServer;
    let folder: string;
    let url: string;
    let store: Store;
    beforeAll(async () => {
      server = await ownMongoServer();
    }, 200_000);
    afterAll(() => server.end());
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
      url = ownDatabase(server.url);
      store = await open();
    });
    afterEach(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });
    const open = () => openMongoStore({ keys: TEST_KEYS, url, folder, callTimeoutMs: CALL_TIMEOUT_MS });

    test('killed under appends: committed entries are stored once, and no other entry is reported as stored', async () => {
      const relay = await MongoRelay.open(url);
      await store.close();
      store = await openMongoStore({ keys: TEST_KEYS, url: relay.urlOf(url), folder, callTimeoutMs: CALL_TIMEOUT_MS });
      const { id } = newCollection();
      const account = 'account';
      const shards = [0, 1, 2, 3].map((index) => `${id}.${index}`);
      const committed = new Map<string, number>();
      const fates: unknown[] = [];
      const writing = shards.map(async (shard) => {
        const tally = { accountId: account, month: MONTH, writes: 1, vectors: 1 };
        for (let seq = 1; ; seq++) {
          const fate = await store.log.append(entry(shard, seq, { tally })).catch((error: unknown) => error);
          if (fate !== 'committed') return fates.push(fate);
          committed.set(shard, seq);
        }
      });
      await until('all shards have entries', () => shards.every((shard) => (committed.get(shard) ?? 0) >= 5));
      await relay.fail();
      await server.kill();
      await Promise.all(writing);
      for (const fate of fates) {
        expect(fate).toBeInstanceOf(StoreError);
        expect(['unknown', 'unavailable']).toContain((fate as StoreError).kind);
      }
      await expect(store.log.append(entry(shards[0], 1_000))).rejects.toMatchObject({ kind: 'unavailable' });
      await expect(store.log.head(shards[0])).rejects.toMatchObject({ kind: 'unavailable' });
      await server.restart();
      await store.close();
      await relay.close();
      store = await open();
      let total = 0;
      for (const shard of shards) {
        const entries = await store.log.read(shard, 0, Number.MAX_SAFE_INTEGER);
        const acknowledged = committed.get(shard)!;
        expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: entries.length }, (_, i) => i + 1));
        // At most one more append than reported: the one in flight.
        expect([acknowledged, acknowledged + 1]).toContain(entries.length);
        expect(await store.log.head(shard)).toEqual(head(entries.length));
        expect(await store.log.append(entry(shard, acknowledged))).toBe('conflict');
        total += entries.length;
      }
      expect(await store.usage.read(account, MONTH)).toEqual({ writes: total, queries: 0, vectors: total });
    });

    test('hanging in the middle of an append: unknown, and a void at its seq settles it', async () => {
      const shard = `${newCollection().id}.0`;
      expect(await store.log.append(entry(shard, 1))).toBe('committed');
      const late = entry(shard, 2);
      try {
        await server.freeze();
        await expect(store.log.append(late)).rejects.toMatchObject({ name: 'StoreError', kind: 'unknown' });
      } finally {
        server.thaw();
      }
      const bar = entry(shard, 2, { kind: 'void', body: new Uint8Array(0) });
      const outcome = await until('the server answers', () => store.log.append(bar).catch(() => null));
      const settled = outcome === 'committed' ? bar : late;
      for (let look = 0; look < 20; look++) {
        expect(await store.log.read(shard, 1, 1)).toMatchObject([{ seq: 2, entryId: settled.entryId }]);
      }
    });

    test("hanging completely: every call ends in time, with 'unavailable' if it can have had no effect", async () => {
      const shard = `${newCollection().id}.0`;
      await store.records.apply(shard, 0, 1, [put('a', 1)]);
      try {
        await server.freeze();
        const outcomes = await Promise.all(
          [
            () => store.log.head(shard),
            () => store.records.appliedSeq(shard),
            () => store.catalog.getCollection('x'),
            () => store.keys.findByHash('x'),
            () => store.checkpoints.list(shard),
            () => store.anchors.get('x'),
            () => store.usage.read('x', MONTH),
            () =>
              openMongoStore({ keys: TEST_KEYS, url, folder: join(folder, 'other'), callTimeoutMs: CALL_TIMEOUT_MS }),
          ].map((call) => (call() as Promise<unknown>).catch((error: unknown) => error)),
        );
        for (const outcome of outcomes) expect(outcome).toMatchObject({ name: 'StoreError', kind: 'unavailable' });
        const block = newBlock();
        const write = await store.usage.openBlock('x', MONTH, block, 1, null).catch((error: unknown) => error);
        expect(write).toMatchObject({ name: 'StoreError' });
        expect(['unknown', 'unavailable']).toContain((write as StoreError).kind);
      } finally {
        server.thaw();
      }
      expect(await until('the server answers', () => store.records.appliedSeq(shard).catch(() => null))).toBe(1);
    });

    test('hanging in the middle of an apply: the applied seq is not past its rows, and repeating the apply completes it, whatever arrives late', async () => {
      const shard = `${newCollection().id}.0`;
      await store.records.apply(shard, 0, 1, [put('r0', 1), put('r1', 1)]);
      const changes = Array.from({ length: 2_400 }, (_, i) => put(`r${i}`, 2));
      const client = new MongoClient(url);
      const applying = store.records.apply(shard, 1, 2, changes).then(
        () => 'applied',
        (error: StoreError) => error.kind,
      );
      await until('some rows are there', async () => (await client.db().collection('records').countDocuments()) > 2);
      await server.freeze();
      const outcome = await applying.finally(() => server.thaw());
      expect(['unknown', 'unavailable', 'applied']).toContain(outcome);
      await client.close();
      await store.close();
      store = await openMongoStore({ keys: TEST_KEYS, url, folder, callTimeoutMs: 30_000 });
      const mark = await store.records.appliedSeq(shard);
      if (outcome === 'applied') expect(mark).toBe(2);
      const last = await recordsOf(store.records, shard, changes.map(({ id }) => id).slice(2));
      if (mark === 2) expect(last).toHaveLength(2_398);
      await store.records.apply(shard, 1, 2, changes);
      expect(await store.records.appliedSeq(shard)).toBe(2);
      const scan = await store.records.scan(shard);
      let found = 0;
      for await (const batch of scan.batches) found += batch.filter(({ seq }) => seq === 2).length;
      expect(found).toBe(2_400);
      expect(scan.reachedSeq).toBe(2);
    });

    test('no server: opening says unavailable', async () => {
      await server.kill();
      try {
        await expect(open()).rejects.toMatchObject({ name: 'StoreError', kind: 'unavailable' });
      } finally {
        await server.restart();
      }
    });
  });
}
