import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { storeKeys } from '../../lib/secret/keyring.ts';
import { EMPTY_HEAD } from '../../lib/shard/head.ts';
import { openMongoStore } from '../../store/mongo/store.ts';
import type { Store } from '../../store/port.ts';
import { anyMongoServer, isMongoThere, type MongoServer, ownDatabase } from '../support/mongo-server.ts';
import { type ResealRun, reseal } from '../support/reseal-run.ts';
import { entry, newAccount, newCollection, newKey } from './store-rows.ts';

const start = await anyMongoServer();
const secret = (number: number): string => `the-secret-that-this-installation-has-${number}`;

if (isMongoThere(start)) {
  let server: MongoServer;
  let folder: string;
  let url: string;
  const account = newAccount({ plan: 'pro' });
  const collection = newCollection({ accountId: account.id });
  const key = newKey({ accountId: account.id });
  const shard = `${collection.id}.0`;

  const open = (...numbers: number[]): Promise<Store> =>
    openMongoStore({ url, folder, keys: storeKeys(numbers.map(secret) as [string]), callTimeoutMs: 30_000 });
  /** Always closes the store: an open one would keep the process from exiting. */
  const within = async (numbers: number[], work: (store: Store) => Promise<void> = async () => undefined) => {
    const store = await open(...numbers);
    try {
      await work(store);
    } finally {
      await store.close();
    }
  };
  const run = (secrets: number[], ...args: string[]): Promise<ResealRun> =>
    reseal(
      {
        PROVEC_MONGO_URL: url,
        PROVEC_SECRET: secrets.map(secret).join(' '),
        PROVEC_DATA_DIR: join(folder, 'data'),
        PROVEC_LEDGER: 'off',
      },
      ...args,
    );

  beforeAll(async () => {
    server = await start!();
  }, 200_000);
  afterAll(() => server.end());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'provec-reseal-'));
    url = ownDatabase(server.url);
    await within([1], async (store) => {
      await store.catalog.createAccount(account);
      await store.catalog.createCollection(collection, null);
      await store.keys.create(key, null);
      for (const seq of [1, 2, 3])
        await store.log.append(
          entry(shard, seq, { kind: 'open', head: { ...EMPTY_HEAD, seq }, body: new Uint8Array(0) }),
        );
    });
  });
  afterEach(async () => {
    const client = new MongoClient(url);
    await client.db().dropDatabase();
    await client.close();
    await rm(folder, { recursive: true });
  });

  test('completes a rotation', async () => {
    expect(await run([2, 1])).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/Nothing was written/),
    });
    await within([1]);
    expect(await run([2, 1], '--apply')).toMatchObject({ code: 0, stderr: '' });
    await within([2], async (store) => {
      expect(await store.keys.findByHash(key.hash)).toEqual(key);
      expect(await store.log.audit(shard, 3)).toBeNull();
    });
  });

  test('after a lost secret the store opens again, and a key can be created', async () => {
    expect(await run([2], '--apply')).toMatchObject({ code: 1, stderr: expect.stringContaining('--lost') });
    const lost = await run([2], '--lost', '--apply');
    expect(lost).toMatchObject({
      code: 2,
      stderr: '',
      stdout: expect.stringMatching(/not held: PROVEC_LEDGER is off/),
    });
    const made = await run([2], '--new-key', account.id);
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^pv_live_\S{43}\n$/) });
    await within([2], async (store) => {
      expect(await store.catalog.getCollection(collection.id)).toEqual(collection);
      expect(await store.keys.findByHash(key.hash)).toBeNull();
      expect(await store.keys.list(account.id)).toHaveLength(1);
    });
  });

  test('a row in a place where the service never puts it is not trusted', async () => {
    const client = new MongoClient(url);
    const collections = client.db().collection<{ _id: string }>('collections');
    await collections.updateOne({ _id: collection.id }, { $set: { 'row.name': 'another' } });
    await client.close();
    const { stdout } = await run([2], '--lost', '--apply');
    expect(stdout).toMatch(new RegExp(`^refused: collection ${collection.id} .* is where it does not belong`, 'm'));
    await within([2], (store) =>
      expect(store.catalog.getCollection(collection.id)).rejects.toMatchObject({ kind: 'damaged' }),
    );
  });

  test("is refused while a node's beat advances on another machine", async () => {
    const store = await open(1);
    const process = { pid: 1, startedAt: '1', place: 'another machine' };
    await store.leases.begin({ node: 'shards-1', incarnation: 'one', beat: 1, process, draining: false });
    let beat = 1;
    const beating = setInterval(() => void store.leases.renew('one', ++beat, false), 200);
    const refused = await run([2, 1], '--apply');
    clearInterval(beating);
    await store.close();
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/The node shards-1 .*is at work on the store/),
    });
    await within([1]);
  });
}
