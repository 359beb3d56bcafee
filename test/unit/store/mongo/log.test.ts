import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Binary, type Collection } from 'mongodb';
import { Connection } from '../../../../store/mongo/connection.ts';
import { joined, numberPart, shardPart } from '../../../../store/mongo/document-id.ts';
import type { EntryDocument } from '../../../../store/mongo/log-entry-codec.ts';
import { SplitBodies } from '../../../../store/mongo/split-bodies.ts';
import type { Store } from '../../../../store/port.ts';
import { entry, head, newCollection } from '../../../contract/store-rows.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const start = await anyMongoServer();
const MIB = 1024 * 1024;

if (isMongoThere(start)) {
  describe('MongoDB: the log', () => {
    let database: MongoDatabase;
    /** Two nodes; each has its own view of the newest entries. */
    let deposed: Store;
    let owner: Store;
    beforeAll(async () => {
      database = await mongoDatabase(await start!());
      deposed = await database.open();
      owner = await database.open();
    }, 200_000);
    afterAll(() => database.end());

    const newShard = () => `${newCollection().id}.0`;
    const documents = (shard: string) =>
      database.db
        .collection<EntryDocument>('log')
        .find({ _id: { $gte: `${shardPart(shard)}.`, $lt: `${shardPart(shard)}/` } })
        .sort({ _id: 1 })
        .toArray();
    const parts = () => database.db.collection<{ _id: string; bytes: Binary }>('log-parts').countDocuments();
    const append = async (store: Store, shard: string, from: number, through: number) => {
      for (let seq = from; seq <= through; seq++) expect(await store.log.append(entry(shard, seq))).toBe('committed');
    };
    const open = (shard: string, seq: number, epoch: number) =>
      entry(shard, seq, { kind: 'open', epoch, body: new Uint8Array(0) });

    test('a fenced owner collides with the fence even if everything around it was trimmed', async () => {
      const shard = newShard();
      await append(deposed, shard, 1, 3);
      expect(await owner.log.append(open(shard, 4, 2))).toBe('committed');
      await append(owner, shard, 5, 12);
      await owner.log.trim(shard, 12);
      expect(await owner.log.firstSeq(shard)).toBeNull();
      expect(await deposed.log.append(entry(shard, 4))).toBe('conflict');
      expect(await deposed.log.head(shard)).toEqual(head(12));
      expect((await documents(shard)).every(({ body }) => body === undefined)).toBe(true);
    });

    test('a fenced owner whose last append succeeded unknown to it collides at its next attempt', async () => {
      const shard = newShard();
      await append(deposed, shard, 1, 3);
      // The response to this append was lost.
      await append(await database.open(), shard, 4, 4);
      expect(await owner.log.append(open(shard, 5, 2))).toBe('committed');
      await append(owner, shard, 6, 9);
      await owner.log.trim(shard, 8);
      expect(await deposed.log.append(entry(shard, 4))).toBe('conflict');
      expect(await deposed.log.append(entry(shard, 4, { kind: 'void' }))).toBe('conflict');
      expect(await owner.log.read(shard, 0, MIB)).toMatchObject([{ seq: 9 }]);
    });

    test('many takeovers leave only their fences', async () => {
      const shard = newShard();
      for (let epoch = 1; epoch <= 5; epoch++) {
        const seq = (epoch - 1) * 10 + 1;
        await owner.log.append(open(shard, seq, epoch));
        await append(owner, shard, seq + 1, seq + 9);
        await owner.log.trim(shard, seq + 9);
      }
      const kept = (await documents(shard)).map(({ _id }) => Number(_id.slice(-16)));
      expect(kept).toEqual([1, 10, 11, 20, 21, 30, 31, 40, 41, 50]);
    });

    test('reads end before a gap, a void closes it, and entries after it are readable', async () => {
      const shard = newShard();
      await append(owner, shard, 1, 5);
      const [, , third] = await documents(shard);
      await database.db.collection<EntryDocument>('log').deleteOne({ _id: third._id });
      expect((await owner.log.read(shard, 0, MIB)).map(({ seq }) => seq)).toEqual([1, 2]);
      expect((await owner.log.read(shard, 2, MIB)).map(({ seq }) => seq)).toEqual([4, 5]);
      expect(await owner.log.append(entry(shard, 3))).toBe('conflict');
      expect(await owner.log.append(entry(shard, 3, { kind: 'void' }))).toBe('committed');
      expect(await owner.log.append(entry(shard, 3, { kind: 'void' }))).toBe('conflict');
      expect((await owner.log.read(shard, 0, MIB)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
      await expect(owner.log.append(entry(shard, 8))).rejects.toThrow(RangeError);
      expect(await owner.log.append(entry(shard, 6))).toBe('committed');
    });

    test('a malformed entry is damaged and hides no other', async () => {
      const shard = newShard();
      await append(owner, shard, 1, 3);
      const [, second] = await documents(shard);
      const entries = database.db.collection<EntryDocument>('log');
      for (const change of [
        { $set: { 'head.seq': 7 } },
        { $set: { body: 'text' } },
        { $unset: { tally: '' } },
        { $set: { 'head.hash': 1 } },
      ]) {
        await entries.updateOne({ _id: second._id }, change as object);
        expect(await owner.log.read(shard, 0, MIB)).toMatchObject([
          { seq: 1, kind: 'write' },
          { seq: 2, kind: 'damaged' },
          { seq: 3, kind: 'write' },
        ]);
        await entries.replaceOne({ _id: second._id }, second);
      }
      expect((await owner.log.read(shard, 0, MIB))[1].kind).toBe('write');
    });

    test.each<{
      what: string;
      seq: number;
      change: (entries: Collection<EntryDocument>, id: string) => Promise<unknown>;
    }>([
      {
        what: 'a body',
        seq: 4,
        change: (entries, _id) =>
          entries.updateOne({ _id }, { $set: { body: new Binary(Buffer.from('x')), bodyBytes: 1 } }),
      },
      { what: 'an epoch', seq: 5, change: (entries, _id) => entries.updateOne({ _id }, { $set: { epoch: 9 } }) },
      { what: 'no link', seq: 3, change: (entries, _id) => entries.updateOne({ _id }, { $unset: { link: '' } }) },
      { what: 'an entry taken out', seq: 6, change: (entries, _id) => entries.deleteOne({ _id }) },
    ])('an audit finds $what', async ({ seq, change }) => {
      const shard = newShard();
      for (let next = 1; next <= 8; next++) await (next % 2 ? owner : deposed).log.append(entry(shard, next));
      expect(await owner.log.audit(shard, 8)).toBeNull();
      const entries = database.db.collection<EntryDocument>('log');
      const _id = joined(shardPart(shard), numberPart(seq));
      expect(await entries.countDocuments({ _id })).toBe(1);
      await change(entries, _id);
      expect(await owner.log.audit(shard, 8)).toBe(seq);
      expect(await owner.log.audit(shard, seq - 1)).toBeNull();
    });

    test('a body of more than 16 MB is read back, and removed with its entry', async () => {
      const shard = newShard();
      const body = Buffer.alloc(30 * MIB);
      for (let at = 0; at < body.length; at += 4_096) body.writeUInt32LE(at, at);
      expect(await owner.log.append(entry(shard, 1, { body }))).toBe('committed');
      expect(await parts()).toBe(3);
      const [found] = await deposed.log.read(shard, 0, 1);
      expect(Buffer.compare(found.body, body)).toBe(0);
      // A conflicting append leaves no parts behind.
      await append(deposed, shard, 2, 2);
      expect(await owner.log.append(entry(shard, 2, { body }))).toBe('conflict');
      expect(await parts()).toBe(3);
      // A conflicting repeat of an existing entry does not delete that entry's parts.
      const again = await database.open();
      expect(await again.log.append(entry(shard, 3, { body }))).toBe('committed');
      const [third] = await again.log.read(shard, 2, 1);
      expect(await deposed.log.append(third)).toBe('conflict');
      expect((await deposed.log.read(shard, 2, 1))[0].kind).toBe('write');
      await owner.log.trim(shard, 3);
      expect(await parts()).toBe(0);
    });

    test('an entry with an incomplete split body is damaged; parts without an entry are swept', async () => {
      const shard = newShard();
      const body = Buffer.alloc(13 * MIB, 7);
      const connection = new Connection({ url: database.url, callTimeoutMs: 30_000 });
      // Left by a process that ended before it stored the entry itself.
      await new SplitBodies(connection).write(shardPart(shard), entry(shard, 2, { body }));
      await connection.close();
      await append(owner, shard, 1, 1);
      expect(await owner.log.append(entry(shard, 2, { body }))).toBe('committed');
      expect(await parts()).toBe(4);
      expect((await owner.log.read(shard, 1, 1))[0].kind).toBe('write');
      const [, second] = await documents(shard);
      const lost = database.db.collection<{ _id: string }>('log-parts');
      await lost.deleteOne({
        _id: { $gte: `${second._id}.${second.entryId}.`, $lt: `${second._id}.${second.entryId}/` },
      });
      expect((await owner.log.read(shard, 1, 1))[0]).toMatchObject({ seq: 2, kind: 'damaged' });
      await append(owner, shard, 3, 3);
      await owner.log.trim(shard, 2);
      expect(await parts()).toBe(0);
    });

    test('a read while the log is trimmed sees no gap and no damage', async () => {
      const shard = newShard();
      await append(owner, shard, 1, 120);
      let trimmed = false;
      const trimming = (async () => {
        for (let seq = 10; seq <= 120; seq += 10) await owner.log.trim(shard, seq);
        trimmed = true;
      })();
      while (!trimmed) {
        const entries = await deposed.log.read(shard, 0, MIB);
        expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, at) => entries[0].seq + at));
        expect(entries.every(({ kind }) => kind === 'write')).toBe(true);
      }
      await trimming;
      expect(await deposed.log.read(shard, 0, MIB)).toEqual([]);
    });
  });
}
