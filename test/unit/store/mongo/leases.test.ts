import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newCollection } from '../../../contract/store-rows.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const start = await anyMongoServer();
const READS = 1_500;

if (isMongoThere(start)) {
  describe('MongoDB: leases', () => {
    let database: MongoDatabase;
    beforeAll(async () => {
      database = await mongoDatabase(await start!());
    }, 200_000);
    afterAll(() => database.end());

    test("a renewal does not wait for a busy node's reads", async () => {
      const { leases, log } = await database.open({ maxConnections: 1 });
      const process = { pid: 1, startedAt: null, place: 'here' };
      await leases.begin({ node: 'n', incarnation: 'i', beat: 0, process, draining: false });
      const shard = `${newCollection().id}.0`;
      let read = 0;
      const reads = Promise.all(Array.from({ length: READS }, () => log.head(shard).then(() => read++)));
      expect(await leases.renew('i', 1, false)).toBe(true);
      expect(read).toBeLessThan(READS / 2);
      await reads;
    });
  });
}
