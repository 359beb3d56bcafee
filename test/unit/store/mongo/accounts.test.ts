import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { storeKeys } from '../../../../lib/secret/keyring.ts';
import { Seals } from '../../../../lib/secret/seals.ts';
import { openMongoToReseal } from '../../../../store/mongo/resealing.ts';
import { openMongoStore } from '../../../../store/mongo/store.ts';
import type { Store } from '../../../../store/port.ts';
import { resealAll, TRUST_NOTHING } from '../../../../store/resealer.ts';
import { payloadOfAccount } from '../../../../store/sealed-catalog.ts';
import { newAccount, newBlock, newCollection, newKey } from '../../../contract/store-rows.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { FORGED_KEYS, NEXT_TEST_SECRET, TEST_KEYS, TEST_SECRET } from '../../../support/store-keys.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const start = await anyMongoServer();

if (isMongoThere(start)) {
  describe('MongoDB: deletion of accounts', () => {
    let database: MongoDatabase;
    let store: Store;
    beforeAll(async () => {
      database = await mongoDatabase(await start!());
      store = await database.open();
    }, 200_000);
    afterAll(() => database.end());

    test('an interrupted deletion of an account is completed at the next start', async () => {
      const account = newAccount();
      const key = newKey({ accountId: account.id });
      await store.catalog.createAccount(account);
      await store.keys.create(key, null);
      await store.usage.openBlock(account.id, '2026-11', newBlock(), 5, null);
      // A leftover collection of the account must not block the deletion.
      await store.catalog.createCollection(newCollection({ accountId: account.id }), null);
      const seal = new Seals(TEST_KEYS.catalog).sealHex(payloadOfAccount(account, 'deleting'));
      await database.db
        .collection<{ _id: string }>('accounts')
        .updateOne({ _id: account.id }, { $set: { deleting: true, 'row.seal': seal } });
      expect(await store.catalog.getAccount(account.id)).toBeNull();
      expect((await store.catalog.listAccounts()).map(({ id }) => id)).not.toContain(account.id);
      expect(await store.catalog.setPlan(account.id, 'pro')).toBeNull();
      await database.open();
      expect(await store.keys.findByHash(key.hash)).toBeNull();
      expect((await store.usage.read(account.id, '2026-11')).queries).toBe(0);
      expect(await database.db.collection<{ _id: string }>('accounts').findOne({ _id: account.id })).toBeNull();
      expect(await store.catalog.deleteAccount(account.id)).toBe(false);
    });

    test.each([
      ['a mark', { deleting: true }],
      ['a mark of another form', { deleting: false }],
      ['a mark without a value', { deleting: null }],
      [
        'a mark, and a seal of their own',
        { deleting: true, 'row.seal': new Seals(FORGED_KEYS.catalog).sealHex(['account that is being deleted']) },
      ],
    ])(
      'someone marks an account as being deleted by %s: it is refused, and no start removes it or its data',
      async (_, $set) => {
        const account = newAccount();
        const key = newKey({ accountId: account.id });
        await store.catalog.createAccount(account);
        await store.keys.create(key, null);
        await store.usage.openBlock(account.id, '2026-11', newBlock(), 5, null);
        const accounts = database.db.collection<{ _id: string }>('accounts');
        const before = (await accounts.findOne({ _id: account.id }))!;
        await accounts.updateOne({ _id: account.id }, { $set });
        const told: unknown[] = [];
        const { catalog, keys, usage } = await database.open({
          log: { error: (row: unknown) => told.push(row) } as never,
        });
        expect(told).toContainEqual({ row: `account ${account.id}` });
        for (const call of [
          () => catalog.getAccount(account.id),
          () => catalog.setPlan(account.id, 'pro'),
          () => catalog.deleteAccount(account.id),
        ])
          await expect(call()).rejects.toMatchObject({ kind: 'damaged' });
        expect((await catalog.listAccounts()).map(({ id }) => id)).not.toContain(account.id);
        expect(await keys.findByHash(key.hash)).toEqual(key);
        expect((await usage.read(account.id, '2026-11')).queries).toBe(5);
        await accounts.replaceOne({ _id: account.id }, before);
        expect(await catalog.getAccount(account.id)).toEqual(account);
      },
    );

    test('someone removes the mark of an account that is being deleted: it does not come back', async () => {
      const account = newAccount();
      await store.catalog.createAccount(account);
      const seal = new Seals(TEST_KEYS.catalog).sealHex(payloadOfAccount(account, 'deleting'));
      const accounts = database.db.collection<{ _id: string }>('accounts');
      await accounts.updateOne({ _id: account.id }, { $set: { 'row.seal': seal } });
      await expect(store.catalog.getAccount(account.id)).rejects.toMatchObject({ kind: 'damaged' });
    });

    test('of concurrent deletions of an account, one reports success', async () => {
      const account = newAccount();
      await store.catalog.createAccount(account);
      const { catalog } = await database.open();
      const outcomes = await Promise.all([store.catalog, catalog].map((each) => each.deleteAccount(account.id)));
      expect(outcomes.sort()).toEqual([false, true]);
    });

    test('one interrupted under an earlier secret is completed under the next alone, once everything is resealed', async () => {
      const account = newAccount();
      await store.catalog.createAccount(account);
      const seal = new Seals(TEST_KEYS.catalog).sealHex(payloadOfAccount(account, 'deleting'));
      const accounts = database.db.collection<{ _id: string }>('accounts');
      await accounts.updateOne({ _id: account.id }, { $set: { deleting: true, 'row.seal': seal } });
      const keys = storeKeys([NEXT_TEST_SECRET, TEST_SECRET]);
      const { url } = database;
      const toReseal = await openMongoToReseal({ url, keys, trustsLog: false });
      const findings = [];
      for await (const finding of resealAll(toReseal.seals, keys, TRUST_NOTHING)) findings.push(finding);
      await toReseal.close();
      const own = { stored: { kind: 'account', state: 'deleting', row: { id: account.id } }, isRefused: false };
      const ofAccount = findings.filter(
        (each) => each.what === 'row' && each.stored.kind === 'account' && each.stored.row.id === account.id,
      );
      expect(ofAccount).toMatchObject([own]);
      const folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
      const next = await openMongoStore({ url, folder, keys: storeKeys([NEXT_TEST_SECRET]), callTimeoutMs: 30_000 });
      expect(await accounts.findOne({ _id: account.id })).toBeNull();
      await next.close();
      await rm(folder, { recursive: true });
    });
  });
}
