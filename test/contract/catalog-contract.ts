import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Position } from '../../store/page.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { at, collect, newAccount, newBlock, newCollection, newKey, pagesOf, WEIRD_IDS } from './store-rows.ts';

export function catalogContract(subject: StoreUnderTest): void {
  describe('catalog', () => {
    let one: string;
    let two: string;
    beforeEach(() => {
      [one, two] = [randomUUID(), randomUUID()];
    });

    test('a collection is found by id and by name, and not by another account', async () => {
      const { catalog } = subject.store;
      const row = newCollection();
      expect(await catalog.createCollection(row, null)).toBe('created');
      expect(await catalog.getCollection(row.id)).toEqual(row);
      expect(await catalog.findCollection(row.accountId, row.name)).toEqual(row);
      expect(await catalog.findCollection('another account', row.name)).toBeNull();
      expect(await catalog.findCollection(row.accountId, 'another-name')).toBeNull();
      expect(await catalog.getCollection('no such id')).toBeNull();
    });

    test('of many creators of one name exactly one succeeds', async () => {
      const rows = Array.from({ length: 20 }, () => newCollection({ accountId: one }));
      const outcomes = await Promise.all(rows.map((row) => subject.store.catalog.createCollection(row, null)));
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'exists')).toHaveLength(19);
      const found = await subject.store.catalog.findCollection(one, 'a-collection');
      expect(found).toEqual(rows[outcomes.indexOf('created')]);
    });

    test("the maximum of collections holds under concurrency, and 'exists' takes precedence over 'limit'", async () => {
      const { catalog } = subject.store;
      const rows = Array.from({ length: 20 }, (_, i) => newCollection({ accountId: one, name: `c${i}` }));
      const outcomes = await Promise.all(rows.map((row) => catalog.createCollection(row, 5)));
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(5);
      expect(outcomes.filter((outcome) => outcome === 'limit')).toHaveLength(15);
      expect(await catalog.countCollections(one)).toBe(5);
      const taken = rows[outcomes.indexOf('created')].name;
      expect(await catalog.createCollection(newCollection({ accountId: one, name: taken }), 5)).toBe('exists');
      expect(await catalog.createCollection(newCollection({ accountId: two, name: taken }), 5)).toBe('created');
    });

    test("lists an account's collections newest first and all accounts' in pages", async () => {
      const { catalog } = await subject.fresh();
      const rows = [3, 1, 2].map((second) =>
        newCollection({ accountId: one, name: `c${second}`, createdAt: at(second) }),
      );
      const other = newCollection({ accountId: two });
      for (const row of [...rows, other]) await catalog.createCollection(row, null);
      expect(await catalog.listCollections(one)).toEqual([rows[0], rows[2], rows[1]]);
      expect(await catalog.listCollections('nobody')).toEqual([]);
      const all = await collect(catalog.allCollections());
      expect(all).toHaveLength(4);
      expect(all).toEqual(expect.arrayContaining([...rows, other]));
    });

    test('pages of an account have each collection once, newest first, and mark the last page', async () => {
      const { catalog } = subject.store;
      const account = randomUUID();
      const rows = Array.from({ length: 210 }, (_, i) =>
        newCollection({ accountId: account, name: `c${i}`, createdAt: at(i >> 1) }),
      );
      for (const row of rows) await catalog.createCollection(row, null);
      const all = await catalog.listCollections(account);
      expect(all.map(({ createdAt }) => createdAt)).toEqual(rows.map(({ createdAt }) => createdAt).toReversed());
      const read = (after: Position | null, limit: number) => catalog.collectionsPage(account, after, limit);
      for (const limit of [105, 209, 210]) expect((await pagesOf(read, limit)).flat()).toEqual(all);
      expect(await pagesOf(read, 210)).toHaveLength(1);
      // A page can start after a collection that no longer exists.
      await catalog.dropCollection(all[1].id, true);
      expect((await catalog.collectionsPage(account, all[1], 2)).rows).toEqual([all[2], all[3]]);
      await catalog.forgetDropped(all[1].id);
      expect((await catalog.collectionsPage(account, all[1], 2)).rows).toContainEqual(all[2]);
    });

    test('pages through more collections than one page holds', async () => {
      const { catalog } = await subject.fresh();
      const rows = Array.from({ length: 1_200 }, (_, i) => newCollection({ accountId: one, name: `c${i}` }));
      await Promise.all(rows.map((row) => catalog.createCollection(row, null)));
      const all = await collect(catalog.allCollections());
      expect(new Set(all.map(({ id }) => id))).toEqual(new Set(rows.map(({ id }) => id)));
      expect(all).toHaveLength(rows.length);
    });

    test('deletion protection is turned on and off, and nothing else changes', async () => {
      const { catalog } = subject.store;
      const row = newCollection();
      await catalog.createCollection(row, null);
      const changed = { ...row, deletionProtection: !row.deletionProtection };
      expect(await catalog.changeCollection(row.id, () => changed)).toEqual(changed);
      expect(await catalog.findCollection(row.accountId, row.name)).toEqual(changed);
      expect(await catalog.listCollections(row.accountId)).toEqual([changed]);
      expect(await catalog.changeCollection('never existed', () => changed)).toBeNull();
    });

    test('tags are set at creation or later, changed and removed', async () => {
      const { catalog } = subject.store;
      const tagged = newCollection({ accountId: one, name: 'tagged', tags: '{"a":"1"}' });
      const plain = newCollection({ accountId: one, name: 'plain' });
      await catalog.createCollection(plain, null);
      await catalog.createCollection(tagged, null);
      const { deletionProtection } = plain;
      const set = (row: CollectionRow, tags: string | undefined) =>
        catalog.changeCollection(row.id, () => ({ deletionProtection, tags }));
      expect(await catalog.findCollection(one, 'tagged')).toEqual(tagged);
      await set(plain, '{"b":"2"}');
      expect(await catalog.getCollection(plain.id)).toEqual({ ...plain, tags: '{"b":"2"}' });
      await set(plain, '{"b":"3"}');
      await set(tagged, undefined);
      const { tags: _, ...bare } = tagged;
      expect(await catalog.getCollection(tagged.id)).toEqual({ ...bare, deletionProtection });
      expect(await catalog.listCollections(one)).toContainEqual({ ...plain, tags: '{"b":"3"}' });
      expect(await catalog.dropCollection(plain.id, true)).toBe('dropped');
      expect(await catalog.listDropped()).toContainEqual({ ...plain, tags: '{"b":"3"}' });
      await catalog.forgetDropped(plain.id);
    });

    test('concurrent changes each see what the other wrote', async () => {
      const { catalog } = subject.store;
      const row = newCollection();
      await catalog.createCollection(row, null);
      const count = ({ tags = '{"n":"0"}' }: CollectionRow) => Number((JSON.parse(tags) as { n: string }).n);
      await Promise.all(
        Array.from({ length: 8 }, () =>
          catalog.changeCollection(row.id, (before) => ({
            ...before,
            tags: JSON.stringify({ n: String(count(before) + 1) }),
          })),
        ),
      );
      expect(count((await catalog.getCollection(row.id))!)).toBe(8);
    });

    test('a protected collection is dropped only if the caller insists', async () => {
      const { catalog } = subject.store;
      const row = newCollection();
      await catalog.createCollection(row, null);
      await catalog.changeCollection(row.id, () => ({ deletionProtection: true }));
      expect(await catalog.dropCollection(row.id, false)).toBe('protected');
      expect(await catalog.getCollection(row.id)).toEqual({ ...row, deletionProtection: true });
      await catalog.changeCollection(row.id, () => ({ deletionProtection: false }));
      expect(await catalog.dropCollection(row.id, false)).toBe('dropped');
      const other = newCollection({ deletionProtection: true });
      await catalog.createCollection(other, null);
      expect(await catalog.dropCollection(other.id, true)).toBe('dropped');
    });

    test('a dropped name is free at once, and its row stays among the dropped until it is removed', async () => {
      const { catalog } = await subject.fresh();
      const row = newCollection();
      const next = newCollection({ accountId: row.accountId });
      await catalog.createCollection(row, 1);
      const drops = await Promise.all([catalog.dropCollection(row.id, true), catalog.dropCollection(row.id, true)]);
      expect(drops.sort()).toEqual(['dropped', 'gone']);
      expect(await catalog.getCollection(row.id)).toBeNull();
      expect(await catalog.findCollection(row.accountId, row.name)).toBeNull();
      expect(await catalog.listCollections(row.accountId)).toEqual([]);
      expect(await catalog.countCollections(row.accountId)).toBe(0);
      expect(await catalog.createCollection(next, 1)).toBe('created');
      expect(await catalog.listDropped()).toEqual([row]);
      await catalog.forgetDropped(row.id);
      await catalog.forgetDropped(row.id);
      expect(await catalog.listDropped()).toEqual([]);
      expect(await catalog.findCollection(row.accountId, row.name)).toEqual(next);
      expect(await catalog.dropCollection('never existed', true)).toBe('gone');
    });

    test('accounts are listed oldest first; their plan changes; a deleted one takes its keys and usage along', async () => {
      const { catalog, keys, usage } = await subject.fresh();
      const [young, old] = [newAccount({ createdAt: at(9) }), newAccount({ createdAt: at(1) })];
      await catalog.createAccount(young);
      await catalog.createAccount(old);
      expect(await catalog.listAccounts()).toEqual([old, young]);
      expect(await pagesOf((after: Position | null, limit) => catalog.accountsPage(after, limit), 1)).toEqual([
        [old],
        [young],
      ]);
      expect(await catalog.setPlan(old.id, 'pro')).toEqual({ ...old, plan: 'pro' });
      expect(await catalog.getAccount(old.id)).toEqual({ ...old, plan: 'pro' });
      expect(await catalog.setPlan('nobody', 'pro')).toBeNull();
      const key = newKey({ accountId: old.id });
      const kept = newKey({ accountId: young.id });
      await keys.create(key, null);
      await keys.create(kept, null);
      await usage.openBlock(old.id, '2026-11', newBlock(), 3, null);
      await usage.openBlock(young.id, '2026-11', newBlock(), 4, null);
      expect(await catalog.deleteAccount(old.id)).toBe(true);
      expect(await catalog.deleteAccount(old.id)).toBe(false);
      expect(await catalog.getAccount(old.id)).toBeNull();
      expect(await keys.findByHash(key.hash)).toBeNull();
      expect(await keys.count(old.id)).toBe(0);
      expect(await usage.read(old.id, '2026-11')).toEqual({ writes: 0, queries: 0, vectors: 0 });
      expect(await keys.findByHash(kept.hash)).toEqual(kept);
      expect((await usage.read(young.id, '2026-11')).queries).toBe(4);
    });

    test('a collection written without the secret does not read as absent, and hides no other', async () => {
      const { catalog } = subject.store;
      const own = newCollection({ accountId: one });
      const forged = newCollection({ accountId: one, name: 'forged' });
      await catalog.createCollection(own, null);
      await subject.forge((forger) => forger.catalog.createCollection(forged, null));
      const damaged = { name: 'StoreError', kind: 'damaged' };
      await expect(catalog.getCollection(forged.id)).rejects.toMatchObject(damaged);
      await expect(catalog.findCollection(one, 'forged')).rejects.toMatchObject(damaged);
      await expect(catalog.changeCollection(forged.id, () => ({ deletionProtection: true }))).rejects.toMatchObject(
        damaged,
      );
      await expect(catalog.dropCollection(forged.id, true)).rejects.toMatchObject(damaged);
      expect(await catalog.createCollection(newCollection({ accountId: one, name: 'forged' }), null)).toBe('exists');
      expect(await catalog.listCollections(one)).toEqual([own]);
      const all = await collect(catalog.allCollections());
      expect(all.filter(({ accountId }) => accountId === one)).toEqual([own]);
    });

    test('a collection dropped without the secret is not among the dropped', async () => {
      const { catalog } = subject.store;
      const forged = newCollection({ accountId: one });
      await subject.forge(async (forger) => {
        await forger.catalog.createCollection(forged, null);
        await forger.catalog.dropCollection(forged.id, true);
      });
      expect(await catalog.getCollection(forged.id)).toBeNull();
      expect((await catalog.listDropped()).map(({ id }) => id)).not.toContain(forged.id);
    });

    test('an account written without the secret does not read as absent, and gets no plan', async () => {
      const { catalog } = subject.store;
      const forged = newAccount({ plan: 'enterprise' });
      await subject.forge((forger) => forger.catalog.createAccount(forged));
      await expect(catalog.getAccount(forged.id)).rejects.toMatchObject({ kind: 'damaged' });
      await expect(catalog.setPlan(forged.id, 'pro')).rejects.toMatchObject({ kind: 'damaged' });
      await expect(catalog.deleteAccount(forged.id)).rejects.toMatchObject({ kind: 'damaged' });
      expect((await catalog.listAccounts()).map(({ id }) => id)).not.toContain(forged.id);
    });

    test('survives a restart', async () => {
      const { catalog } = await subject.fresh();
      const [live, dropped] = [newCollection(), newCollection()];
      const account = newAccount();
      await catalog.createAccount(account);
      await catalog.setPlan(account.id, 'business');
      for (const row of [live, dropped]) await catalog.createCollection(row, null);
      await catalog.dropCollection(dropped.id, true);
      const after = (await subject.reopen()).catalog;
      expect(await after.findCollection(live.accountId, live.name)).toEqual(live);
      expect(await after.listDropped()).toEqual([dropped]);
      expect(await after.getAccount(account.id)).toEqual({ ...account, plan: 'business' });
    });

    test('names and account ids of any form stay apart', async () => {
      const { catalog } = subject.store;
      const rows = WEIRD_IDS.flatMap((name) => [
        newCollection({ accountId: one, name }),
        newCollection({ accountId: name, name: 'one' }),
      ]);
      for (const row of rows) expect(await catalog.createCollection(row, null)).toBe('created');
      for (const row of rows) expect(await catalog.findCollection(row.accountId, row.name)).toEqual(row);
      expect(await catalog.countCollections(one)).toBe(WEIRD_IDS.length);
      for (const id of WEIRD_IDS) expect(await catalog.countCollections(id)).toBe(1);
    });
  });
}
