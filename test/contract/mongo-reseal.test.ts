import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { Binary, MongoClient } from 'mongodb';
import { joined, numberPart, shardPart } from '../../store/mongo/document-id.ts';
import { openMongoToReseal } from '../../store/mongo/resealing.ts';
import { openMongoStore } from '../../store/mongo/store.ts';
import { openDatabaseAsForger } from '../support/mongo-forger.ts';
import { anyMongoServer, isMongoThere, type MongoServer, ownDatabase } from '../support/mongo-server.ts';
import { resealContract } from './reseal-contract.ts';

const start = await anyMongoServer();

if (isMongoThere(start)) {
  let server: MongoServer;
  beforeAll(async () => {
    server = await start!();
  }, 200_000);
  afterAll(() => server.end());

  resealContract('MongoDB', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'provec-reseal-'));
    const url = ownDatabase(server.url);
    const callTimeoutMs = 30_000;
    const inDatabase = async (work: (client: MongoClient) => Promise<unknown>): Promise<void> => {
      const client = new MongoClient(url);
      await work(client);
      await client.close();
    };
    return {
      open: (keys) => openMongoStore({ keys, url, folder, callTimeoutMs }),
      // Batches of one document, so that a run can be interrupted between any two documents.
      toReseal: (keys, trustsLog, onStep) =>
        openMongoToReseal({ url, keys, trustsLog, callTimeoutMs, batch: 1, onStep }),
      forger: () => openDatabaseAsForger(url, `${folder}-forged`),
      changeBody: (shard, seq, body) =>
        inDatabase((client) =>
          client
            .db()
            .collection<{ _id: string; body: Binary }>('log')
            .updateOne({ _id: joined(shardPart(shard), numberPart(seq)) }, { $set: { body: new Binary(body) } }),
        ),
      async destroy() {
        await inDatabase((client) => client.db().dropDatabase());
        await rm(folder, { recursive: true });
      },
    };
  });
}
