import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { storeKeys } from '../../lib/secret/keyring.ts';
import { unsoundHead } from '../../lib/shard/shard-head.ts';
import { openSqliteStore, type SqliteStore } from '../../lib/store/sqlite/store.ts';
import { entry, newCollection } from '../contract/store-rows.ts';
import { TEST_KEYS, TEST_SECRET } from '../support/store-keys.ts';

const SHARD = `${newCollection().id}.0`;

let folder: string;
let store: SqliteStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-secret-'));
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

describe('under another secret', () => {
  const open = (...secrets: [string, ...string[]]) => openSqliteStore(folder, { keys: storeKeys(secrets) });
  const NEXT = 'the secret that comes after the first';

  test('a store is refused with what to do', async () => {
    await store.close();
    const advice = /made under another secret: put back the one/;
    await expect(open(NEXT)).rejects.toMatchObject({ kind: 'damaged', message: expect.stringMatching(advice) });
    store = await open(TEST_SECRET);
  });

  test('what was written under the first is believed beside it, and what is written then is of the second', async () => {
    await store.log.append(entry(SHARD, 1));
    await store.close();
    store = await open(NEXT, TEST_SECRET);
    await store.log.append(entry(SHARD, 2));
    expect(await store.log.audit(SHARD, 2)).toBeNull();
    await store.close();
    store = await open(TEST_SECRET);
    expect((await store.log.read(SHARD, 0, 1_000)).map(({ kind }) => kind)).toEqual(['write', 'damaged']);
    expect(await store.log.head(SHARD)).toEqual(unsoundHead(2));
  });
});
