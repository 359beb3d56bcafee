import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ObjectId } from 'mongodb';
import { freeSlots } from '../../../../store/mongo/collection-slots.ts';
import { Connection } from '../../../../store/mongo/connection.ts';
import { MONGO_FORMAT } from '../../../../store/mongo/format.ts';
import { openMongoStore } from '../../../../store/mongo/store.ts';
import type { Store } from '../../../../store/port.ts';
import { at, entry, newAccount, newCollection, newKey, put } from '../../../contract/store-rows.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const start = await anyMongoServer();

describe('slots of collections', () => {
  const slot = fc.option(fc.integer({ min: 0, max: 20 }), { nil: null });
  const takenSlots = fc.array(slot, { maxLength: 15 }).map((slots) => {
    const numbers = new Set<number>();
    return slots.filter((each) => each === null || (!numbers.has(each) && numbers.add(each)));
  });
  const max = fc.integer({ min: 0, max: 16 });

  test('one is free exactly while there are fewer collections than the limit', () => {
    fc.assert(
      fc.property(takenSlots, max, (taken, limit) => {
        const free = freeSlots(taken, limit);
        expect(free.length > 0).toBe(taken.length < limit);
        for (const each of free) expect(taken).not.toContain(each);
      }),
    );
  });

  test('all slots that may be taken after one read do not exceed the limit', () => {
    fc.assert(
      fc.property(takenSlots, max, (taken, limit) => {
        const free = freeSlots(taken, limit);
        if (free.length > 0) expect(taken.length + free.length).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test('a caller that saw more collections than now exist may take nothing that others may not', () => {
    fc.assert(
      fc.property(
        takenSlots,
        max,
        fc.array(fc.boolean(), { minLength: 15, maxLength: 15 }),
        (before, limit, dropped) => {
          const now = before.filter((_, index) => !dropped[index]);
          const late = freeSlots(before, limit);
          expect(freeSlots(now, limit)).toEqual(expect.arrayContaining(late));
        },
      ),
    );
  });
});

test('read and write concerns and retries in the URL are overridden', async () => {
  const url =
    'mongodb://127.0.0.1:1/db?w=1&journal=false&retryWrites=true&retryReads=true&readConcernLevel=local&readPreference=secondary';
  const connection = new Connection({ url, callTimeoutMs: 1_000 });
  const { db } = connection;
  expect(db.databaseName).toBe('db');
  expect(db.writeConcern).toMatchObject({ w: 'majority', j: true });
  expect(db.readConcern?.level).toBe('majority');
  expect(db.readPreference?.mode).toBe('primary');
  expect(db.client.options).toMatchObject({ retryWrites: false, retryReads: false });
  await connection.close();
  const unnamed = new Connection({ url: 'mongodb://127.0.0.1:1', callTimeoutMs: 1_000 });
  expect(unnamed.db.databaseName).toBe('provec');
  await unnamed.close();
});

if (isMongoThere(start)) {
  describe('MongoDB: catalog, format, leftovers', () => {
    let database: MongoDatabase;
    let store: Store;
    beforeAll(async () => {
      database = await mongoDatabase(await start!());
      store = await database.open();
    }, 200_000);
    afterAll(() => database.end());

    test('the limit is exact after a time without one, on many nodes at once', async () => {
      const { id: accountId } = newAccount();
      const row = (name: string) => newCollection({ accountId, name });
      const stores = [store, await database.open(), await database.open()];
      for (let i = 0; i < 3; i++) expect(await store.catalog.createCollection(row(`free${i}`), null)).toBe('created');
      const outcomes = await Promise.all(
        Array.from({ length: 18 }, (_, i) => stores[i % 3].catalog.createCollection(row(`limited${i}`), 8)),
      );
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(5);
      expect(await store.catalog.countCollections(accountId)).toBe(8);
      expect(await store.catalog.createCollection(row('one-more'), 8)).toBe('limit');
      expect(await store.catalog.createCollection(row('free0'), 8)).toBe('exists');
      const [first] = await store.catalog.listCollections(accountId);
      await store.catalog.dropCollection(first.id, true);
      const again = await Promise.all(stores.map(({ catalog }, i) => catalog.createCollection(row(`again${i}`), 8)));
      expect(again.filter((outcome) => outcome === 'created')).toHaveLength(1);
    });

    test('keys on many nodes: the limit is exact, and the last with manage stays', async () => {
      const { id: accountId } = newAccount();
      const stores = [store, await database.open()];
      const rows = Array.from({ length: 10 }, () => newKey({ accountId }));
      const created = await Promise.all(rows.map((row, i) => stores[i % 2].keys.create(row, 6)));
      expect(created.filter((outcome) => outcome === 'created')).toHaveLength(6);
      const own = rows.filter((_, i) => created[i] === 'created');
      const revoked = await Promise.all(own.map((row, i) => stores[i % 2].keys.revoke(accountId, row.id, at(0))));
      expect(revoked.filter((outcome) => outcome === 'last')).toHaveLength(1);
      const taken = own[revoked.indexOf('last')];
      const thief = newKey({ accountId: newAccount().id, hash: taken.hash });
      await expect(store.keys.create(thief, null)).rejects.toThrow(RangeError);
      await expect(store.keys.create(newKey({ accountId, id: taken.id }), null)).rejects.toThrow(RangeError);
    });

    test.each([
      ['the account', { 'row.accountId': 'another' }],
      ['the name', { 'row.name': 'another' }],
      ['the state, back from dropped', { state: 'live' }],
    ])('a collection with a changed %s is refused', async (_, $set) => {
      const row = newCollection();
      await store.catalog.createCollection(row, null);
      if ('state' in $set) await store.catalog.dropCollection(row.id, true);
      await database.db.collection<{ _id: string }>('collections').updateOne({ _id: row.id }, { $set });
      await expect(store.catalog.getCollection(row.id)).rejects.toMatchObject({ kind: 'damaged' });
      expect(await store.catalog.listCollections(row.accountId)).toEqual([]);
    });

    test('a collection that someone marked as dropped is not among the dropped', async () => {
      const row = newCollection();
      await store.catalog.createCollection(row, null);
      const collections = database.db.collection<{ _id: string }>('collections');
      await collections.updateOne({ _id: row.id }, { $set: { state: 'dropped' } });
      expect((await store.catalog.listDropped()).map(({ id }) => id)).not.toContain(row.id);
    });

    test("one collection's row in another's place is not trusted", async () => {
      const accountId = newAccount().id;
      const [one, other] = ['one', 'other'].map((name) => newCollection({ accountId, name }));
      for (const row of [one, other]) await store.catalog.createCollection(row, null);
      const collections = database.db.collection<{ _id: string; row: unknown }>('collections');
      const { row } = (await collections.findOne({ _id: one.id }))!;
      await collections.updateOne({ _id: other.id }, { $set: { row } });
      await expect(store.catalog.getCollection(other.id)).rejects.toMatchObject({ kind: 'damaged' });
      await expect(store.catalog.findCollection(accountId, 'other')).rejects.toMatchObject({ kind: 'damaged' });
      expect(await store.catalog.getCollection(one.id)).toEqual(one);
    });

    test('copies of the only real manage key, changed and unchanged: it counts as one, and the last', async () => {
      const row = newKey({ accountId: newAccount().id });
      await store.keys.create(row, null);
      const keys = database.db.collection<{ _id: string; keys: object[] }>('account-keys');
      const stored = (await keys.findOne({ _id: row.accountId }))!.keys[0];
      const alien = newKey({ accountId: newAccount().id });
      await store.keys.create(alien, null);
      const moved = (await keys.findOne({ _id: alien.accountId }))!.keys[0];
      const all = [{ ...stored, name: 'another' }, stored, moved, stored];
      await keys.updateOne({ _id: row.accountId }, { $set: { keys: all } });
      expect(await store.keys.count(row.accountId)).toBe(1);
      expect(await store.keys.revoke(row.accountId, row.id, at(0))).toBe('last');
      expect(await store.keys.create(newKey({ accountId: row.accountId }), 2)).toBe('created');
      expect(await store.keys.create(newKey({ accountId: row.accountId }), 2)).toBe('limit');
    });

    test("a key under another's hash opens nothing", async () => {
      const row = newKey({ accountId: newAccount().id });
      await store.keys.create(row, null);
      const hash = 'f'.repeat(64);
      const keys = database.db.collection<{ _id: string }>('account-keys');
      const lookups = `#${hash}`;
      await keys.updateOne({ _id: row.accountId }, { $set: { 'keys.0.hash': hash }, $push: { lookups } } as object);
      expect(await store.keys.findByHash(hash)).toBeNull();
    });

    test('leftovers of a failed checkpoint are removed with the next one', async () => {
      const shard = `${newCollection().id}.3`;
      const [file, files] = [new ObjectId(), database.db.collection('checkpoint-files.chunks')];
      await files.insertOne({ files_id: file, n: 0, data: Buffer.alloc(10) });
      const manifests = database.db.collection<{ _id: string }>('checkpoints');
      const _id = `${shard.replace(/\.3$/, '.003')}.${'4'.padStart(16, '0')}.cut-short`;
      const left = {
        seq: 4,
        state: 'writing',
        bytes: 0,
        createdAt: '',
        files: [{ name: 'x', bytes: 0, sha256: '', file }],
      };
      await manifests.insertOne({ _id, ...left });
      expect(await store.checkpoints.list(shard)).toEqual([]);
      const folder = await store.checkpoints.stage(shard);
      writeFileSync(join(folder, 'x'), 'content');
      await store.checkpoints.put(shard, 5, folder);
      expect(await files.findOne({ files_id: file })).toBeNull();
      expect(await manifests.findOne({ _id })).toBeNull();
      // A checkpoint that lost a chunk is ignored.
      await files.deleteMany({});
      expect(await store.checkpoints.fetch(shard, 5)).toBeNull();
      expect(await store.checkpoints.list(shard)).toEqual([]);
    });

    const FILES_INDEX = 'filename_1_uploadDate_1';
    const blindToCase = { collation: { locale: 'en', strength: 1 } };
    test.each([
      ['has documents expire', 'contradictions', 'at_1, which', { at: 1 }, { expireAfterSeconds: 1 }],
      [
        'has files expire under the name of an index of GridFS',
        'checkpoint-files.files',
        `${FILES_INDEX} with another key`,
        { uploadDate: 1 },
        { name: FILES_INDEX, expireAfterSeconds: 1 },
      ],
      [
        'has an index be blind to case',
        'checkpoint-files.files',
        `${FILES_INDEX} with another collation`,
        { filename: 1, uploadDate: 1 },
        { name: FILES_INDEX, ...blindToCase },
      ],
      ['has two keys be found by one hash', 'account-keys', 'lookups_1 with another unique', { lookups: 1 }, {}],
    ])('a database in which someone %s is refused', async (_, name, said, key, options) => {
      const other = await mongoDatabase(await start!());
      try {
        await other.open();
        const collection = other.db.collection(name);
        if (name === 'account-keys') await collection.dropIndex('lookups_1');
        await collection.createIndex(key as never, options);
        const message = expect.stringMatching(`the collection ${name} has the index ${said}`);
        await expect(other.open()).rejects.toMatchObject({ kind: 'damaged', message });
      } finally {
        await other.end();
      }
    });

    test('every collection and index that is created is known', async () => {
      const { id } = newCollection();
      await store.contradictions.record(`${id}.0`, { seq: 1, reason: 'Changed.', at: at(0) });
      await store.log.append(entry(`${id}.0`, 1));
      await store.records.apply(`${id}.0`, 0, 1, [put('r', 1)]);
      const staged = await store.checkpoints.stage(`${id}.0`);
      writeFileSync(join(staged, 'x'), 'content');
      await store.checkpoints.put(`${id}.0`, 1, staged);
      await expect(database.open()).resolves.toBeDefined();
    });

    test('a database of a later format is refused in one sentence, and so are an earlier and a damaged one', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
      const formats = database.db.collection<{ _id: string }>('format');
      const open = () => openMongoStore({ keys: TEST_KEYS, url: database.url, folder });
      await formats.updateOne({ _id: 'format' }, { $set: { format: MONGO_FORMAT + 1 } });
      await expect(open()).rejects.toMatchObject({
        name: 'StoreError',
        kind: 'damaged',
        message: expect.stringMatching(/^The database has format \d+, .*newer version that wrote it\.$/),
      });
      await formats.updateOne({ _id: 'format' }, { $set: { format: MONGO_FORMAT - 1 } });
      await expect(open()).rejects.toMatchObject({
        kind: 'damaged',
        message: expect.stringMatching(/earlier version/),
      });
      await formats.updateOne({ _id: 'format' }, { $set: { format: 'x' } });
      await expect(open()).rejects.toMatchObject({ kind: 'damaged' });
      await formats.updateOne({ _id: 'format' }, { $set: { format: MONGO_FORMAT } });
      await Promise.all([open(), open()].map(async (opening) => (await opening).close()));
      await rm(folder, { recursive: true });
    });
  });
}
