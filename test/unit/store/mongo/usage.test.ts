import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Collection, Document } from 'mongodb';
import { Connection } from '../../../../store/mongo/connection.ts';
import { idPart, shardPart } from '../../../../store/mongo/document-id.ts';
import { LogShards } from '../../../../store/mongo/log-shards.ts';
import { TallyFolding, type UsageDocument } from '../../../../store/mongo/tally-folding.ts';
import { MongoUsage } from '../../../../store/mongo/usage.ts';
import type { Store } from '../../../../store/port.ts';
import { entry, newAccount, newCollection } from '../../../contract/store-rows.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const start = await anyMongoServer();
const MONTH = '2026-11';

if (isMongoThere(start)) {
  describe('MongoDB: tallies', () => {
    let database: MongoDatabase;
    let store: Store;
    let account: string;
    let collection: string;
    const connections: Connection[] = [];
    beforeAll(async () => {
      database = await mongoDatabase(await start!());
      store = await database.open();
    }, 200_000);
    beforeEach(() => {
      account = newAccount().id;
      collection = newCollection().id;
    });
    afterAll(async () => {
      await Promise.all(connections.map((connection) => connection.close()));
      await database.end();
    });

    /** A connection of another node. `faulty` may inject faults into the collection `name`. */
    function connected(name = '', faulty: (real: Collection) => Collection = (real) => real): Connection {
      class FaultyConnection extends Connection {
        override collection<T extends Document>(of: string): Collection<T> {
          const real = super.collection<T>(of);
          return of === name ? (faulty(real as never) as never) : real;
        }
      }
      const connection = new FaultyConnection({ url: database.url, callTimeoutMs: 30_000 });
      connections.push(connection);
      return connection;
    }

    function folder(entries?: (real: Collection) => Collection): TallyFolding {
      const connection = connected('log', entries);
      return new TallyFolding(connection, new LogShards(connection));
    }

    async function append(index: number, from: number, through: number): Promise<void> {
      const tally = { accountId: account, month: MONTH, writes: 2, vectors: 1 };
      for (let seq = from; seq <= through; seq++)
        await store.log.append(entry(`${collection}.${index}`, seq, { tally }));
    }
    const usage = () => store.usage.read(account, MONTH);
    const marked = () => database.db.collection('log').countDocuments({ uncounted: idPart(account) });
    const document = () => database.db.collection<UsageDocument>('usage').findOne({ _id: idPart(account) });

    test('a folding that ends between counting and unmarking counts nothing twice', async () => {
      await append(0, 1, 6);
      const dying = folder(
        (real) =>
          new Proxy(real, {
            get(target, name) {
              if (name === 'updateMany') return () => Promise.reject(new Error('killed'));
              const value: unknown = Reflect.get(target, name);
              return typeof value === 'function' ? value.bind(target) : value;
            },
          }),
      );
      const shard = shardPart(`${collection}.0`);
      await expect(dying.fold(shard, 4)).rejects.toThrow('killed');
      expect((await document())?.vectors).toBe(4);
      expect(await marked()).toBe(6);
      expect(await usage()).toEqual({ writes: 12, queries: 0, vectors: 6 });
      await folder().fold(shard, 5);
      expect((await document())?.vectors).toBe(5);
      expect(await marked()).toBe(1);
      expect(await usage()).toEqual({ writes: 12, queries: 0, vectors: 6 });
    });

    test('concurrent folding, readers and appends: each entry is counted once, at every moment', async () => {
      const folders = [folder(), folder(), folder()];
      const shards = [0, 1, 2].map((index) => shardPart(`${collection}.${index}`));
      let committed = 0;
      let ended = false;
      const appending = Promise.all(
        [0, 1, 2].map(async (index) => {
          for (let seq = 1; seq <= 40; seq++) {
            await append(index, seq, seq);
            committed++;
          }
        }),
      ).finally(() => {
        ended = true;
      });
      const folding = folders.map(async (each, at) => {
        while (!ended) await each.fold(shards[at], Number.MAX_SAFE_INTEGER);
        for (const shard of shards) await each.fold(shard, Number.MAX_SAFE_INTEGER);
      });
      while (!ended) {
        const atLeast = committed;
        const { vectors, writes } = await usage();
        // One append per shard may be done without its writer knowing it.
        expect(vectors).toBeGreaterThanOrEqual(atLeast);
        expect(vectors).toBeLessThanOrEqual(committed + 3);
        expect(writes).toBe(2 * vectors);
      }
      await Promise.all([appending, ...folding]);
      expect(await usage()).toEqual({ writes: 240, queries: 0, vectors: 120 });
      expect(await marked()).toBe(0);
      expect((await document())?.vectors).toBe(120);
    });

    test('folding by all nodes over one shard counts each entry once', async () => {
      await append(0, 1, 50);
      const shard = shardPart(`${collection}.0`);
      await Promise.all(
        Array.from({ length: 8 }, async (_, at) => {
          const own = folder();
          for (let through = 1 + at; through <= 50; through += 7) await own.fold(shard, through);
        }),
      );
      expect(await usage()).toEqual({ writes: 100, queries: 0, vectors: 50 });
    });

    test('a folding that read before a drop does not bring the vectors back after it', async () => {
      await append(0, 1, 5);
      const kept = newCollection().id;
      await store.log.append(
        entry(`${kept}.0`, 1, { tally: { accountId: account, month: MONTH, writes: 1, vectors: 7 } }),
      );
      let reached: () => void = () => undefined;
      const hasRead = new Promise<void>((resolve) => {
        reached = resolve;
      });
      let goOn: () => void = () => undefined;
      const mayGoOn = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const slow = (real: Collection) =>
        new Proxy(real, {
          get(target, name) {
            if (name === 'updateOne') {
              return async (...given: Parameters<typeof real.updateOne>) => {
                reached();
                await mayGoOn;
                return target.updateOne(...given);
              };
            }
            const value: unknown = Reflect.get(target, name);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
      const connection = connected('usage', slow);
      const late = new TallyFolding(connection, new LogShards(connection));
      const folding = late.fold(shardPart(`${collection}.0`), 5);
      await hasRead;
      await store.dropCollectionData(collection);
      goOn();
      await folding;
      expect(await usage()).toEqual({ writes: 11, queries: 0, vectors: 7 });
      await store.dropCollectionData(kept);
      expect(await usage()).toEqual({ writes: 11, queries: 0, vectors: 0 });
    });

    test('a read that overlaps a drop counts nothing twice', async () => {
      await append(0, 1, 5);
      let dropped = false;
      const slow = (real: Collection) =>
        new Proxy(real, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            if (name !== 'findOne') return value.bind(target);
            return async (...given: unknown[]) => {
              // The marked entries have been read by now.
              if (!dropped) await store.dropCollectionData(collection);
              dropped = true;
              return value.apply(target, given);
            };
          },
        });
      const reader = new MongoUsage(connected('usage', slow), folder());
      expect(await reader.read(account, MONTH)).toEqual({ writes: 10, queries: 0, vectors: 0 });
    });

    test('a drop that ends before the log is removed subtracts the vectors once', async () => {
      await append(0, 1, 5);
      await append(1, 1, 3);
      await folder().subtractCollection(idPart(collection), collection);
      expect(await usage()).toEqual({ writes: 16, queries: 0, vectors: 0 });
      await folder().subtractCollection(idPart(collection), collection);
      await store.dropCollectionData(collection);
      expect(await usage()).toEqual({ writes: 16, queries: 0, vectors: 0 });
    });

    test('trimmed entries stay counted, and a read over many entries folds them', async () => {
      await append(0, 1, 300);
      expect(await usage()).toEqual({ writes: 600, queries: 0, vectors: 300 });
      expect(await marked()).toBe(0);
      await append(0, 301, 310);
      await store.log.trim(`${collection}.0`, 305);
      expect(await marked()).toBe(5);
      expect(await usage()).toEqual({ writes: 620, queries: 0, vectors: 310 });
    });
  });
}
