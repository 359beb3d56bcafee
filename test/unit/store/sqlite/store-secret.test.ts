import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { storeKeys } from '../../../../lib/secret/keyring.ts';
import { invalidHead } from '../../../../lib/shard/head.ts';
import type { Store } from '../../../../store/port.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { entry, newAccount, newCollection, newKey } from '../../../contract/store-rows.ts';
import { TEST_KEYS, TEST_SECRET } from '../../../support/store-keys.ts';

const SHARD = `${newCollection().id}.0`;

let folder: string;
let store: Store;

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

  test('a store is refused, with what to do', async () => {
    await store.close();
    const advice = /made under another secret: put back the one/;
    await expect(open(NEXT)).rejects.toMatchObject({ kind: 'damaged', message: expect.stringMatching(advice) });
    store = await open(TEST_SECRET);
  });

  test('rows of the first secret are accepted too, and new ones are sealed with the second', async () => {
    await store.log.append(entry(SHARD, 1));
    await store.close();
    store = await open(NEXT, TEST_SECRET);
    await store.log.append(entry(SHARD, 2));
    expect(await store.log.audit(SHARD, 2)).toBeNull();
    await store.close();
    store = await open(TEST_SECRET);
    expect((await store.log.read(SHARD, 0, 1_000)).map(({ kind }) => kind)).toEqual(['write', 'damaged']);
    expect(await store.log.head(SHARD)).toEqual(invalidHead(2));
  });
});

test('a key whose scopes are not a list: the others are listed, counted and revoked', async () => {
  const [own, other] = [newKey({}), newKey({ scopes: ['read'] })];
  for (const key of [own, other]) await store.keys.create({ ...key, accountId: own.accountId }, null);
  const file = new DatabaseSync(join(folder, 'log.db'), { timeout: 5_000 });
  const columns = `?, accountId, name, ?, prefix, '{', createdAt, expiresAt, lastUsedAt, seal`;
  file.prepare(`INSERT INTO keys SELECT ${columns} FROM keys WHERE id = ?`).run('forged', 'f'.repeat(64), own.id);
  file.close();
  expect((await store.keys.list(own.accountId)).map(({ id }) => id).sort()).toEqual([own.id, other.id].sort());
  expect(await store.keys.count(own.accountId)).toBe(2);
  expect(await store.keys.revoke(own.accountId, own.id, own.createdAt)).toBe('last');
  expect(await store.keys.revoke(own.accountId, 'forged', own.createdAt)).toBe('revoked');
  expect(await store.keys.revoke(own.accountId, other.id, own.createdAt)).toBe('revoked');
});

/** Columns that decide nothing: the last use of a key, and the order of rows. */
const UNSEALED = ['lastUsedAt', 'place'];

describe('after a change to one column of a row', () => {
  /** Calls `seen` for each sealed column while the column contains another value. */
  async function changed(table: string, id: string, seen: (column: string) => Promise<void>): Promise<void> {
    const file = new DatabaseSync(join(folder, 'log.db'), { timeout: 5_000 });
    try {
      const columns = file.prepare(`SELECT name, type FROM pragma_table_info(?)`).all(table) as Column[];
      const sealed = columns.filter(({ name }) => !UNSEALED.includes(name));
      for (const { name, type } of sealed) {
        const { value } = file.prepare(`SELECT ${name} AS value FROM ${table} WHERE id = ?`).get(id)!;
        const text = name === 'scopes' ? '["read","manage"]' : `x${value}`;
        const other = type === 'INTEGER' ? 1 - Number(value) : text;
        // Found by rowid, because the id is one of the columns.
        const change = file.prepare(`UPDATE ${table} SET ${name} = ? WHERE rowid = ?`);
        const { row } = file.prepare(`SELECT rowid AS row FROM ${table} WHERE id = ?`).get(id)!;
        change.run(other, row!);
        await seen(name);
        change.run(value!, row!);
      }
    } finally {
      file.close();
    }
  }
  type Column = { name: string; type: string };

  test('a key opens nothing, and works again once the column is restored', async () => {
    const key = newKey({ scopes: ['read'] });
    await store.keys.create(key, null);
    await changed('keys', key.id, async (column) => {
      expect([column, await store.keys.findByHash(key.hash)]).toEqual([column, null]);
      expect(await store.keys.list(key.accountId)).toEqual([]);
    });
    expect(await store.keys.findByHash(key.hash)).toEqual(key);
  });

  test('a collection is neither live nor dropped', async () => {
    const { catalog } = store;
    const row = newCollection();
    await catalog.createCollection(row, null);
    await changed('collections', row.id, async () => {
      expect(await catalog.listCollections(row.accountId)).toEqual([]);
      expect(await catalog.listDropped()).toEqual([]);
    });
    expect(await catalog.getCollection(row.id)).toEqual(row);
  });

  test('a dropped collection does not come back', async () => {
    const { catalog } = store;
    const row = newCollection();
    await catalog.createCollection(row, null);
    await catalog.dropCollection(row.id, true);
    await changed('collections', row.id, async (column) => {
      if (column === 'dropped') await expect(catalog.getCollection(row.id)).rejects.toMatchObject({ kind: 'damaged' });
      else expect(await catalog.getCollection(row.id)).toBeNull();
      expect(await catalog.listDropped()).toEqual([]);
    });
    expect(await catalog.listDropped()).toEqual([row]);
  });

  test('an account has no plan', async () => {
    const account = newAccount();
    await store.catalog.createAccount(account);
    await changed('accounts', account.id, async (column) => {
      if (column === 'id') expect(await store.catalog.getAccount(account.id)).toBeNull();
      else await expect(store.catalog.getAccount(account.id)).rejects.toMatchObject({ kind: 'damaged' });
      expect(await store.catalog.listAccounts()).toEqual([]);
    });
    expect(await store.catalog.getAccount(account.id)).toEqual(account);
  });
});
