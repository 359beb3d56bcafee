import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Db, MongoClient } from 'mongodb';
import { type MongoStoreOptions, openMongoStore } from '../../../../store/mongo/store.ts';
import type { Store } from '../../../../store/port.ts';
import { type MongoServer, ownDatabase } from '../../../support/mongo-server.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';

/** A database for one test, with any number of stores on it. */
export interface MongoDatabase {
  url: string;
  db: Db;
  /** Opens another node's store, which is closed at the end. */
  open(options?: Partial<Omit<MongoStoreOptions, 'keys'>>): Promise<Store>;
  /** Also ends the server. */
  end(): Promise<void>;
}

export async function mongoDatabase(server: MongoServer): Promise<MongoDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'provec-mongo-'));
  const url = ownDatabase(server.url);
  const client = new MongoClient(url);
  const stores: Store[] = [];
  return {
    url,
    db: client.db(),
    async open(options = {}) {
      const own = join(folder, String(stores.length));
      const store = await openMongoStore({ url, folder: own, callTimeoutMs: 30_000, ...options, keys: TEST_KEYS });
      stores.push(store);
      return store;
    },
    async end() {
      await Promise.all(stores.map((store) => store.close()));
      await client.db().dropDatabase();
      await client.close();
      await rm(folder, { recursive: true, force: true });
      await server.end();
    },
  };
}
