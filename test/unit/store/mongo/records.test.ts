import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Collection, Document } from 'mongodb';
import { Connection } from '../../../../store/mongo/connection.ts';
import { shardPart } from '../../../../store/mongo/document-id.ts';
import { MongoRecords } from '../../../../store/mongo/records.ts';
import type { RecordChange, RecordStore } from '../../../../store/records.ts';
import { newCollection, put, readAll, recordsOf, remove } from '../../../contract/store-rows.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { randomFrom } from '../../../support/random.ts';
import { seed } from '../../../support/seed.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const start = await anyMongoServer();
const MIN_TOMBSTONES = 10;
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `r${at}`);

/** A node that holds one write of rows, and later ones, until released. */
class HeldConnection extends Connection {
  /** Resolves when rows are about to be written. */
  readonly reached: Promise<void>;
  #reach: () => void = () => undefined;
  letGo: () => void = () => undefined;
  readonly #mayGoOn: Promise<void>;

  #writesBefore: number;

  /** The first `writesBefore` writes are not held. */
  constructor(url: string, writesBefore = 0) {
    super({ url, callTimeoutMs: 30_000 });
    this.#writesBefore = writesBefore;
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
    this.#mayGoOn = new Promise((resolve) => {
      this.letGo = resolve;
    });
  }

  override collection<T extends Document>(name: string): Collection<T> {
    const real = super.collection<T>(name);
    if (name !== 'records') return real;
    return new Proxy(real, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member);
        if (typeof value !== 'function') return value;
        if (member !== 'insertMany' && member !== 'bulkWrite') return value.bind(target);
        return async (...given: unknown[]) => {
          if (this.#writesBefore-- > 0) return value.apply(target, given);
          this.#reach();
          await this.#mayGoOn;
          return value.apply(target, given);
        };
      },
    });
  }
}

if (isMongoThere(start)) {
  describe('MongoDB: generations of records', () => {
    let database: MongoDatabase;
    const connections: Connection[] = [];
    beforeAll(async () => {
      database = await mongoDatabase(await start!());
      // Creates the indexes.
      await database.open();
    }, 200_000);
    afterAll(async () => {
      await Promise.all(connections.map((connection) => connection.close()));
      await database.end();
    });

    function node<C extends Connection>(connection: C): { records: MongoRecords; connection: C } {
      connections.push(connection);
      return { records: new MongoRecords(connection, MIN_TOMBSTONES), connection };
    }
    const anyNode = () => node(new Connection({ url: database.url, callTimeoutMs: 30_000 })).records;
    const newShard = () => `${newCollection().id}.0`;
    const rowsOf = (shard: string) => {
      const part = shardPart(shard);
      return database.db.collection<{ _id: string; gone?: string }>('records').find({
        _id: { $gte: `${part}.`, $lt: `${part}/` },
      });
    };
    const generationOf = async (shard: string) =>
      (
        await database.db
          .collection<{ _id: string; generation: number }>('record-shards')
          .findOne({ _id: shardPart(shard) })
      )?.generation;
    const contentOf = async (records: RecordStore, shard: string) =>
      new Map([...(await readAll(await records.scan(shard)))].map(([id, { seq }]) => [id, seq]));

    test('deleted records free their space, and a late write of a node that no longer owns the shard changes nothing', async () => {
      const shard = newShard();
      const owner = anyNode();
      const deposed = node(new HeldConnection(database.url));
      const first = numbered(20).map((id) => put(id, 1));
      await owner.apply(shard, 0, 1, first);
      const late = deposed.records.apply(shard, 1, 2, [put('back', 2), put('r0', 2), put('r19', 2)]);
      await deposed.connection.reached;
      await owner.apply(shard, 1, 2, [put('back', 2), put('r0', 2), put('r19', 2)]);
      await owner.apply(shard, 2, 3, [remove('back'), ...numbered(15).map(remove)]);
      await owner.waitForCompaction();
      expect(await generationOf(shard)).toBe(1);
      expect((await rowsOf(shard).toArray()).filter(({ gone }) => gone !== undefined)).toEqual([]);
      deposed.connection.letGo();
      await late;
      const expected = new Map<string, number>([...numbered(20).slice(15)].map((id) => [id, id === 'r19' ? 2 : 1]));
      for (const records of [owner, deposed.records, anyNode()]) {
        expect(await recordsOf(records, shard, ['back', 'r0'])).toEqual([]);
        expect(await contentOf(records, shard)).toEqual(expected);
        expect(await records.appliedSeq(shard)).toBe(3);
      }
      // The late write is in a generation that no longer counts. The next generation removes it.
      expect((await rowsOf(shard).toArray()).length).toBeGreaterThan(expected.size);
      await owner.apply(shard, 3, 4, [...numbered(30).map((id) => put(`n${id}`, 4))]);
      await owner.apply(shard, 4, 5, [...numbered(30).map((id) => remove(`n${id}`))]);
      await owner.waitForCompaction();
      expect(await generationOf(shard)).toBe(2);
      expect((await rowsOf(shard).toArray()).length).toBe(expected.size);
    });

    test('an older write never overwrites a tombstone', async () => {
      const shard = newShard();
      const owner = anyNode();
      const deposed = node(new HeldConnection(database.url));
      const late = deposed.records.apply(shard, 0, 1, [put('a', 1), put('b', 1)]);
      await deposed.connection.reached;
      await owner.apply(shard, 0, 2, [put('a', 1), put('b', 1), put('b', 2), remove('a')]);
      deposed.connection.letGo();
      await late;
      expect(await contentOf(owner, shard)).toEqual(new Map([['b', 2]]));
      expect(await owner.appliedSeq(shard)).toBe(2);
    });

    test('an apply whose generation is replaced meanwhile is repeated in the new one', async () => {
      const shard = newShard();
      const owner = anyNode();
      await owner.apply(
        shard,
        0,
        1,
        numbered(20).map((id) => put(id, 1)),
      );
      await owner.apply(shard, 1, 2, numbered(8).map(remove));
      const slow = node(new HeldConnection(database.url));
      const applying = slow.records.apply(shard, 2, 3, [remove('r8'), put('new', 3)]);
      await slow.connection.reached;
      // It got no further than this, so the generation may be replaced.
      await owner.apply(shard, 2, 3, [remove('r8'), put('new', 3)]);
      await owner.apply(shard, 3, 4, [remove('r9'), remove('r10'), remove('new')]);
      await owner.waitForCompaction();
      expect(await generationOf(shard)).toBeGreaterThan(0);
      slow.connection.letGo();
      await applying;
      const expected = new Map(
        numbered(20)
          .slice(11)
          .map((id) => [id, 1]),
      );
      expect(await contentOf(owner, shard)).toEqual(expected);
    });

    test('a generation is abandoned if another node has changed records meanwhile', async () => {
      const shard = newShard();
      const other = anyNode();
      // The deletes are written; the copy is held.
      const held = node(new HeldConnection(database.url, 1));
      await other.apply(
        shard,
        0,
        1,
        numbered(20).map((id) => put(id, 1)),
      );
      await held.records.apply(shard, 1, 2, numbered(15).map(remove));
      await held.connection.reached;
      await other.apply(shard, 2, 3, [put('late', 3), remove('r16')]);
      held.connection.letGo();
      await held.records.waitForCompaction();
      expect(await generationOf(shard)).toBe(0);
      const expected = new Map([['late', 3], ...['r15', 'r17', 'r18', 'r19'].map((id): [string, number] => [id, 1])]);
      for (const records of [other, held.records]) expect(await contentOf(records, shard)).toEqual(expected);
      expect((await rowsOf(shard).toArray()).filter(({ _id }) => !_id.includes('.0000000000000000.'))).toEqual([]);
    });

    test('a scan continues in the new generation, each record once', async () => {
      const shard = newShard();
      const owner = anyNode();
      const ids = numbered(450);
      await owner.apply(
        shard,
        0,
        1,
        ids.map((id) => put(id, 1)),
      );
      const scan = await anyNode().scan(shard);
      const seen: string[] = [];
      let replaced = false;
      for await (const batch of scan.batches) {
        seen.push(...batch.map(({ id }) => id));
        if (replaced) continue;
        replaced = true;
        // Removes two of three records, both scanned and unscanned ones.
        await owner.apply(shard, 1, 2, ids.filter((_, at) => at % 3 !== 0).map(remove));
        await owner.waitForCompaction();
        expect(await generationOf(shard)).toBe(1);
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual(expect.arrayContaining(ids.filter((_, at) => at % 3 === 0)));
      expect(seen.length).toBeLessThan(ids.length);
      expect(scan.throughSeq).toBe(1);
      expect(scan.reachedSeq).toBe(2);
    });

    test('rows under an `_id` that no record of the shard has are reported separately, also in the next generation', async () => {
      const shard = newShard();
      const records = anyNode();
      await records.apply(shard, 0, 1, [put('a', 1), ...numbered(20).map((id) => put(id, 1))]);
      const stored = await rowsOf(shard).toArray();
      const row = stored.find(({ _id }) => _id.endsWith('.YQ'))!;
      const prefix = row._id.slice(0, -'YQ'.length);
      // All of these ids decode to `a`.
      const forged = ['YR', 'x.YQ', 'YQ.YQ'].map((part) => ({ ...row, _id: prefix + part }));
      await database.db.collection<{ _id: string }>('records').insertMany(forged);
      const named = async () => {
        const scan = await records.scan(shard);
        const all = await readAll(scan);
        expect(scan.unreadable).toEqual([]);
        return { all, stray: scan.stray };
      };
      const { all, stray } = await named();
      expect([all.size, stray]).toEqual([21, ['a', 'a', 'a']]);
      await records.apply(shard, 1, 2, [put('a', 2), ...numbered(20).map(remove)]);
      await records.waitForCompaction();
      expect(await generationOf(shard)).toBe(1);
      expect(await named()).toEqual({ all: new Map([['a', put('a', 2).record]]), stray: ['a', 'a', 'a'] });
    });

    test('whatever two nodes apply at once and however often generations change, the records are those of the log', async () => {
      const random = randomFrom(seed);
      const shard = newShard();
      const log: RecordChange[][] = [];
      const model = new Map<string, number>();
      for (let seq = 1; seq <= 60; seq++) {
        const changes = new Map<string, RecordChange>();
        for (let count = 1 + Math.floor(random() * 12); count > 0; count--) {
          const id = `r${Math.floor(random() * 30)}`;
          changes.set(id, random() < 0.6 ? remove(id) : put(id, seq));
        }
        for (const [id, { record }] of changes) {
          if (record) model.set(id, seq);
          else model.delete(id);
        }
        log.push([...changes.values()]);
      }
      const through = log.length;
      await Promise.all(
        [random, randomFrom(seed + 1), randomFrom(seed + 2)].map(async (own) => {
          const records = anyNode();
          for (;;) {
            const mark = await records.appliedSeq(shard);
            if (mark === through) break;
            const end = Math.min(through, mark + 1 + Math.floor(own() * 3));
            await records.apply(shard, mark, end, log.slice(mark, end).flat());
          }
          await records.waitForCompaction();
        }),
      );
      expect(await contentOf(anyNode(), shard)).toEqual(model);
    });
  });
}
