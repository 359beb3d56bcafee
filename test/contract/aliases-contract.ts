import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AliasRow } from '../../store/aliases.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { at, newAccount, newCollection, WEIRD_IDS } from './store-rows.ts';

export function aliasesContract(subject: StoreUnderTest): void {
  describe('aliases', () => {
    let one: string;
    let [target, other] = ['', ''];
    beforeEach(async () => {
      one = randomUUID();
      [target, other] = [await live('target'), await live('other')];
    });
    const live = async (name: string, id: string = randomUUID()): Promise<string> => {
      await subject.store.catalog.createCollection(newCollection({ id, accountId: one, name }), null);
      return id;
    };
    const newAlias = (change: Partial<Omit<AliasRow, 'id'>> = {}): Omit<AliasRow, 'id'> => ({
      accountId: one,
      alias: 'an-alias',
      collectionId: target,
      createdAt: at(0),
      ...change,
    });
    const stored = (row: Omit<AliasRow, 'id'>): AliasRow => ({ ...row, id: expect.any(String) as never });

    test('an alias is created, found by its account, switched and removed', async () => {
      const { aliases } = subject.store;
      const row = newAlias();
      expect(await aliases.find(one, 'an-alias')).toBeNull();
      expect(await aliases.put(row, 10)).toBe('created');
      expect(await aliases.find(one, 'an-alias')).toEqual(stored(row));
      expect(await aliases.find(randomUUID(), 'an-alias')).toBeNull();
      const switched = newAlias({ collectionId: other, createdAt: at(1) });
      expect(await aliases.put(switched, 10)).toBe('replaced');
      // Replacing an alias keeps its creation time.
      expect(await aliases.find(one, 'an-alias')).toEqual(stored({ ...switched, createdAt: at(0) }));
      expect(await aliases.remove(one, 'an-alias')).toBe(true);
      expect(await aliases.remove(one, 'an-alias')).toBe(false);
      expect(await aliases.find(one, 'an-alias')).toBeNull();
      expect(await aliases.put(row, 10)).toBe('created');
    });

    test('a name is a collection or an alias, whichever is created first', async () => {
      const { aliases, catalog } = subject.store;
      for (let round = 0; round < 5; round++) {
        const name = `name-${round}`;
        const outcomes = await Promise.all([
          ...Array.from({ length: 4 }, () => aliases.put(newAlias({ alias: name }), 1_000)),
          ...Array.from({ length: 4 }, () => catalog.createCollection(newCollection({ accountId: one, name }), null)),
        ]);
        expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
        const isAlias = (await aliases.find(one, name)) !== null;
        expect((await catalog.findCollection(one, name)) === null).toBe(isAlias);
        const others = outcomes.filter((outcome) => outcome !== 'created');
        expect(new Set(others)).toEqual(new Set(isAlias ? ['replaced', 'alias'] : ['collection', 'exists']));
      }
      expect(await catalog.countCollections(one)).toBe((await catalog.listCollections(one)).length);
    });

    test('an alias requires a live collection', async () => {
      const { aliases, catalog } = subject.store;
      const nowhere = randomUUID();
      expect(await aliases.put(newAlias({ collectionId: nowhere }), 10)).toBe('no target');
      expect(await aliases.find(one, 'an-alias')).toBeNull();
      await aliases.put(newAlias(), 10);
      await catalog.dropCollection(other, true);
      for (const collectionId of [nowhere, other])
        expect(await aliases.put(newAlias({ collectionId }), 10)).toBe('no target');
      expect(await aliases.find(one, 'an-alias')).toEqual(stored(newAlias()));
    });

    test('a collection with an alias is dropped only if the caller insists', async () => {
      const { aliases, catalog } = subject.store;
      await aliases.put(newAlias(), 10);
      expect(await catalog.dropCollection(target, false)).toBe('aliased');
      expect(await catalog.getCollection(target)).not.toBeNull();
      await aliases.put(newAlias({ collectionId: other }), 10);
      expect(await catalog.dropCollection(target, false)).toBe('dropped');
      await aliases.remove(one, 'an-alias');
      await aliases.put(newAlias({ collectionId: other }), 10);
      expect(await catalog.dropCollection(other, true)).toBe('dropped');
    });

    test.each(['made', 'switched'])(
      'of an alias that is %s and a concurrent drop of its collection, one is refused',
      async (how) => {
        const { aliases, catalog } = subject.store;
        for (let round = 0; round < 40; round++) {
          const alias = `alias-${round}`;
          const collectionId = await live(`round-${round}`);
          if (how === 'switched') await aliases.put(newAlias({ alias, collectionId: other }), 1_000);
          // The drop starts at a different point of the put in each round.
          const begun = (async () => {
            for (let turns = 0; turns < round % 20; turns++) await setImmediate();
            return catalog.dropCollection(collectionId, false);
          })();
          const [put, dropped] = await Promise.all([aliases.put(newAlias({ alias, collectionId }), 1_000), begun]);
          const isPut = put !== 'no target';
          expect([put, dropped]).toEqual([put, isPut ? 'aliased' : 'dropped']);
          const before = how === 'switched' ? other : undefined;
          expect((await aliases.find(one, alias))?.collectionId).toBe(isPut ? collectionId : before);
        }
      },
    );

    test('a dropped collection frees its name for an alias, and an alias for a collection', async () => {
      const { aliases, catalog } = subject.store;
      const row = newCollection({ accountId: one, name: 'an-alias' });
      await catalog.createCollection(row, null);
      expect(await aliases.put(newAlias(), 10)).toBe('collection');
      await catalog.dropCollection(row.id, true);
      expect(await aliases.put(newAlias(), 10)).toBe('created');
      const next = newCollection({ accountId: one, name: 'an-alias' });
      expect(await catalog.createCollection(next, 3)).toBe('alias');
      await aliases.remove(one, 'an-alias');
      expect(await catalog.createCollection(next, 3)).toBe('created');
    });

    test('no account exceeds its maximum, and switching needs no room', async () => {
      const { aliases } = subject.store;
      for (const alias of ['b', 'a']) expect(await aliases.put(newAlias({ alias }), 2)).toBe('created');
      expect(await aliases.put(newAlias({ alias: 'c' }), 2)).toBe('limit');
      expect(await aliases.put(newAlias({ alias: 'a' }), 2)).toBe('replaced');
      expect(await aliases.put(newAlias({ alias: 'c', accountId: randomUUID() }), 2)).toBe('created');
      expect((await aliases.page(one, null, 10)).rows.map(({ alias }) => alias)).toEqual(['a', 'b']);
      const page = await aliases.page(one, null, 1);
      expect(page).toMatchObject({ rows: [{ alias: 'a' }], next: 'a' });
      expect(await aliases.page(one, 'a', 1)).toMatchObject({ rows: [{ alias: 'b' }], next: null });
    });

    test('aliases do not count as collections, and are deleted with their account', async () => {
      const { aliases, catalog } = subject.store;
      const account = newAccount();
      await catalog.createAccount(account);
      await aliases.put(newAlias({ accountId: account.id }), 10);
      await aliases.put(newAlias(), 10);
      expect(await catalog.listCollections(account.id)).toEqual([]);
      expect(await catalog.countCollections(account.id)).toBe(0);
      expect(await catalog.deleteAccount(account.id)).toBe(true);
      expect(await aliases.find(account.id, 'an-alias')).toBeNull();
      expect(await aliases.find(one, 'an-alias')).not.toBeNull();
    });

    test('an alias written or changed without the secret is refused, and hides no other', async () => {
      const { aliases } = subject.store;
      await aliases.put(newAlias({ alias: 'own' }), 10);
      await subject.forge((forger) => forger.aliases.put(newAlias({ alias: 'forged' }), 10));
      const damaged = { name: 'StoreError', kind: 'damaged' };
      await expect(aliases.find(one, 'forged')).rejects.toMatchObject(damaged);
      await expect(aliases.put(newAlias({ alias: 'forged' }), 10)).rejects.toMatchObject(damaged);
      expect((await aliases.page(one, null, 10)).rows.map(({ alias }) => alias)).toEqual(['own']);
    });

    test('a forged alias blocks no drop, and can be removed', async () => {
      const { aliases, catalog } = subject.store;
      await aliases.put(newAlias({ alias: 'own', collectionId: other }), 10);
      await subject.forge((forger) => forger.aliases.put(newAlias({ alias: 'forged' }), 10));
      expect(await catalog.dropCollection(target, false)).toBe('dropped');
      expect(await catalog.dropCollection(other, false)).toBe('aliased');
      expect(await aliases.remove(one, 'forged')).toBe(true);
      expect(await aliases.find(one, 'forged')).toBeNull();
    });

    test('survives a restart, with any text in names and ids', async () => {
      const { aliases, catalog } = await subject.fresh();
      const rows = WEIRD_IDS.map((text) => newAlias({ accountId: text, alias: text, collectionId: text }));
      for (const id of WEIRD_IDS) await catalog.createCollection(newCollection({ id, accountId: id }), null);
      for (const row of rows) expect(await aliases.put(row, 10)).toBe('created');
      const after = (await subject.reopen()).aliases;
      for (const row of rows) expect(await after.find(row.accountId, row.alias)).toEqual(stored(row));
    });
  });
}
