import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CheckpointFiles } from '../../../../store/mongo/checkpoint-files.ts';
import type { Store } from '../../../../store/port.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const COLLECTION = 'c0000000-0000-4000-8000-000000000001';
const SHARD = `${COLLECTION}.0`;
const start = await anyMongoServer();

if (isMongoThere(start)) {
  let database: MongoDatabase;
  const { upload } = CheckpointFiles.prototype;
  beforeAll(async () => {
    database = await mongoDatabase(await start!());
  }, 200_000);
  afterAll(async () => {
    CheckpointFiles.prototype.upload = upload;
    await database.end();
  });

  async function put(store: Store, seq: number): Promise<unknown> {
    const folder = await store.checkpoints.stage(SHARD);
    writeFileSync(join(folder, 'records.bin'), Buffer.alloc(1024 * 1024, seq));
    return store.checkpoints.put(SHARD, seq, folder);
  }

  test('a checkpoint overtaken while it was written leaves nothing behind', async () => {
    const [late, next] = [await database.open(), await database.open()];
    const uploading = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    CheckpointFiles.prototype.upload = async function (...given) {
      CheckpointFiles.prototype.upload = upload;
      uploading.resolve();
      await held.promise;
      return upload.apply(this, given);
    };
    const overtaken = put(late, 10);
    overtaken.catch(() => undefined);
    await uploading.promise;
    for (const seq of [12, 14]) await put(next, seq);
    held.resolve();
    await expect(overtaken).rejects.toMatchObject({ kind: 'unavailable' });
    expect((await next.checkpoints.list(SHARD)).map(({ seq }) => seq)).toEqual([14, 12]);
    expect(await database.db.collection('checkpoint-files.files').countDocuments()).toBe(2);
    await next.dropCollectionData(COLLECTION);
    for (const name of ['files', 'chunks'])
      expect(await database.db.collection(`checkpoint-files.${name}`).countDocuments()).toBe(0);
  });
}
