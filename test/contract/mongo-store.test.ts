import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { Binary, MongoClient, type ObjectId } from 'mongodb';
import { idPart, joined, numberPart, recordPart, shardPart, under } from '../../store/mongo/document-id.ts';
import { openMongoStore } from '../../store/mongo/store.ts';
import { openDatabaseAsForger } from '../support/mongo-forger.ts';
import { anyMongoServer, isMongoThere, type MongoServer, ownDatabase } from '../support/mongo-server.ts';
import { TEST_KEYS } from '../support/store-keys.ts';
import { storeContract } from './store-contract.ts';

const start = await anyMongoServer();

if (isMongoThere(start)) {
  let server: MongoServer;
  beforeAll(async () => {
    server = await start!();
  }, 200_000);
  afterAll(() => server.end());

  storeContract('MongoDB', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
    const url = ownDatabase(server.url);
    const open = () => openMongoStore({ keys: TEST_KEYS, url, folder, callTimeoutMs: 30_000 });
    const store = await open();
    let current = store;
    return {
      store,
      async reopen() {
        await current.close();
        current = await open();
        return current;
      },
      async destroy() {
        await current.close();
        const client = new MongoClient(url);
        await client.db().dropDatabase();
        await client.close();
        await rm(folder, { recursive: true });
      },
      forger: () => openDatabaseAsForger(url, `${folder}-forged`),
      async spoil(shard, seq, name) {
        const client = new MongoClient(url);
        const manifest = await client
          .db()
          .collection<{ _id: string; files: { name: string; file: ObjectId }[] }>('checkpoints')
          .findOne({ _id: under(shardPart(shard), numberPart(seq)) });
        const chunks = client.db().collection<{ data: Binary }>('checkpoint-files.chunks');
        const chunk = await chunks.findOne({
          files_id: manifest!.files.find((file) => file.name === name)!.file,
          n: 1,
        });
        const data = Buffer.from(chunk!.data.buffer);
        data[1_000] ^= 1;
        await chunks.updateOne({ _id: chunk!._id }, { $set: { data: new Binary(data) } });
        await client.close();
      },
      async respell(shard, id, bytes) {
        const client = new MongoClient(url);
        const records = client.db().collection<{ _id: string }>('records');
        const part = joined('', recordPart(id));
        for await (const row of records.find({ _id: under(shardPart(shard)) }))
          if (row._id.endsWith(part))
            await records.insertOne({
              ...row,
              _id: joined(row._id.slice(0, -part.length), Buffer.from(bytes).toString('base64url')),
            });
        await client.close();
      },
      async remark(change) {
        const client = new MongoClient(url);
        const formats = client.db().collection<{ _id: string; firstKey?: unknown }>('format');
        const format = (await formats.findOne({ _id: 'format' }))!;
        const { firstKey, ...others } = format;
        const changed = change === undefined ? firstKey : change(firstKey);
        if (change)
          await formats.replaceOne(format, { ...others, ...(changed !== undefined && { firstKey: changed }) });
        await client.close();
        return changed;
      },
      async misfile(collectionId, standing) {
        const client = new MongoClient(url);
        const anchors = client.db().collection<{ _id: string }>('anchors');
        const change = standing === 'settled' ? { $unset: { standing: true as const } } : { $set: { standing } };
        await anchors.updateOne({ _id: idPart(collectionId) }, change);
        await client.close();
      },
      async setAside(shard) {
        const client = new MongoClient(url);
        const manifests = client.db().collection<{ _id: string; seq: number; state: string }>('checkpoints');
        const found = await manifests.find({ _id: under(shardPart(shard)), state: 'unsound' }).toArray();
        await client.close();
        return found.map(({ seq }) => seq);
      },
    };
  });
}
