import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { KeyRow } from '../../store/keys.ts';
import type { Position } from '../../store/page.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { at, newKey, pagesOf, WEIRD_IDS } from './store-rows.ts';

export function keysContract(subject: StoreUnderTest): void {
  describe('keys', () => {
    let account: string;
    const keyOf = (change: Partial<KeyRow> = {}) => newKey({ accountId: account, ...change });
    beforeEach(() => {
      account = randomUUID();
    });

    test('a key is found by its hash and listed newest first', async () => {
      const { keys } = subject.store;
      const rows = [2, 3, 1].map((second) => keyOf({ createdAt: at(second), scopes: ['read'], expiresAt: at(99) }));
      for (const row of rows) expect(await keys.create(row, null)).toBe('created');
      expect(await keys.findByHash(rows[0].hash)).toEqual(rows[0]);
      expect(await keys.findByHash('0'.repeat(64))).toBeNull();
      expect(await keys.list(account)).toEqual([rows[1], rows[0], rows[2]]);
      expect(await keys.list('nobody')).toEqual([]);
    });

    test('pages have each key once, newest first, and mark the last page', async () => {
      const { keys } = subject.store;
      // More rows than the adapter reads at once, with two rows per instant.
      const rows = Array.from({ length: 250 }, (_, i) => keyOf({ createdAt: at(i >> 1) }));
      for (const row of rows) await keys.create(row, null);
      const all = await keys.list(account);
      expect(all.map(({ createdAt }) => createdAt)).toEqual(rows.map(({ createdAt }) => createdAt).toReversed());
      const read = (after: Position | null, limit: number) => keys.page(account, after, limit);
      for (const limit of [120, 125, 250, 1_000]) {
        const pages = await pagesOf(read, limit);
        expect(pages.flat()).toEqual(all);
        expect(pages).toHaveLength(Math.ceil(250 / limit));
      }
      const [first, second] = all;
      await keys.revoke(account, second.id, at(0));
      expect((await keys.page(account, second, 1)).rows).toEqual([all[2]]);
      expect((await keys.page(account, first, 2)).rows).toEqual([all[2], all[3]]);
    });

    test('the maximum of keys does not count revoked ones and holds under concurrency', async () => {
      const { keys } = subject.store;
      const rows = Array.from({ length: 12 }, () => keyOf());
      const outcomes = await Promise.all(rows.map((row) => keys.create(row, 4)));
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(4);
      expect(await keys.count(account)).toBe(4);
      expect(await keys.revoke(account, rows[outcomes.indexOf('created')].id, at(0))).toBe('revoked');
      expect(await keys.count(account)).toBe(3);
      expect(await keys.create(keyOf(), 4)).toBe('created');
      expect(await keys.create(keyOf(), 4)).toBe('limit');
    });

    test('a revoked key leaves nothing behind, and is absent when revoked again', async () => {
      const { keys } = subject.store;
      const [row, other] = [keyOf(), keyOf()];
      await keys.create(row, null);
      await keys.create(other, null);
      expect(await keys.revoke(account, row.id, at(0))).toBe('revoked');
      expect(await keys.revoke(account, row.id, at(0))).toBe('absent');
      expect(await keys.list(account)).toEqual([other]);
      expect(await keys.findByHash(row.hash)).toBeNull();
      expect(await (await subject.reopen()).keys.findByHash(row.hash)).toBeNull();
      expect(await subject.store.keys.create(row, null)).toBe('created');
    });

    test("another account's key is absent", async () => {
      const { keys } = subject.store;
      const row = keyOf();
      await keys.create(row, null);
      await keys.create(keyOf(), null);
      expect(await keys.revoke('another account', row.id, at(0))).toBe('absent');
      expect(await keys.revoke(account, 'no such id', at(0))).toBe('absent');
      expect(await keys.findByHash(row.hash)).toEqual(row);
    });

    test('of manage keys revoked at once, one remains', async () => {
      const { keys } = subject.store;
      const rows = Array.from({ length: 6 }, () => keyOf());
      for (const row of rows) await keys.create(row, null);
      const outcomes = await Promise.all(rows.map((row) => keys.revoke(account, row.id, at(0))));
      expect(outcomes.filter((outcome) => outcome === 'last')).toHaveLength(1);
      expect(await keys.count(account)).toBe(1);
    });

    test('only unexpired manage keys save the account from losing its last one', async () => {
      const { keys } = subject.store;
      const manage = keyOf();
      const expired = keyOf({ expiresAt: at(10) });
      const reader = keyOf({ scopes: ['read'] });
      for (const row of [manage, expired, reader]) await keys.create(row, null);
      expect(await keys.revoke(account, manage.id, at(10))).toBe('last');
      expect(await keys.revoke(account, expired.id, at(10))).toBe('revoked');
      expect(await keys.revoke(account, reader.id, at(10))).toBe('revoked');
      const later = keyOf({ expiresAt: at(20) });
      await keys.create(later, null);
      const sooner = keyOf({ expiresAt: at(15) });
      await keys.create(sooner, null);
      expect(await keys.revoke(account, sooner.id, at(12))).toBe('revoked');
      const lasting = keyOf();
      await keys.create(lasting, null);
      expect(await keys.revoke(account, manage.id, at(12))).toBe('revoked');
      expect(await keys.revoke(account, lasting.id, at(12))).toBe('last');
    });

    test('if every manage key expires, the last of them remains', async () => {
      const { keys } = subject.store;
      const [one, two] = [keyOf({ expiresAt: at(10) }), keyOf({ expiresAt: at(20) })];
      for (const row of [one, two]) await keys.create(row, null);
      expect(await keys.revoke(account, two.id, at(5))).toBe('revoked');
      expect(await keys.revoke(account, one.id, at(5))).toBe('last');
    });

    test('a key written without the secret is not found, and can be removed', async () => {
      const { keys } = subject.store;
      const [own, forged] = [keyOf(), keyOf({ createdAt: at(9) })];
      await keys.create(own, null);
      await subject.forge((forger) => forger.keys.create(forged, null));
      expect(await keys.findByHash(forged.hash)).toBeNull();
      expect(await keys.list(account)).toEqual([own]);
      expect(await keys.revoke(account, forged.id, at(0))).toBe('revoked');
      expect(await keys.findByHash(own.hash)).toEqual(own);
    });

    test('a forged manage key next to the only real one: the real one counts as the last, and stays', async () => {
      const { keys } = subject.store;
      const [own, reader, forged] = [keyOf(), keyOf({ scopes: ['read'] }), keyOf()];
      for (const row of [own, reader]) await keys.create(row, null);
      await subject.forge((forger) => forger.keys.create(forged, null));
      expect(await keys.revoke(account, own.id, at(0))).toBe('last');
      expect(await keys.revoke(account, reader.id, at(0))).toBe('revoked');
      expect(await keys.findByHash(own.hash)).toEqual(own);
      // The rule about the last key does not protect a forged key.
      expect(await keys.revoke(account, forged.id, at(0))).toBe('revoked');
      expect(await keys.revoke(account, own.id, at(0))).toBe('last');
    });

    test('a forged manage key, and all real ones revoked at once: one real key stays', async () => {
      const { keys } = subject.store;
      const rows = Array.from({ length: 6 }, () => keyOf());
      for (const row of rows) await keys.create(row, null);
      await subject.forge((forger) => forger.keys.create(keyOf(), null));
      const outcomes = await Promise.all(rows.map((row) => keys.revoke(account, row.id, at(0))));
      expect(outcomes.filter((outcome) => outcome === 'last')).toHaveLength(1);
      expect(await keys.list(account)).toEqual([rows[outcomes.indexOf('last')]]);
    });

    test('forged keys, as many as the account may have, count toward no limit', async () => {
      const { keys } = subject.store;
      await keys.create(keyOf(), 2);
      await subject.forge(async (forger) => {
        for (let forged = 0; forged < 3; forged++) await forger.keys.create(keyOf(), null);
      });
      expect(await keys.count(account)).toBe(1);
      const outcomes = await Promise.all([keyOf(), keyOf()].map((row) => keys.create(row, 2)));
      expect(outcomes.sort()).toEqual(['created', 'limit']);
      expect(await keys.count(account)).toBe(2);
    });

    test('touch only moves the last use forward', async () => {
      const { keys } = subject.store;
      const row = keyOf();
      await keys.create(row, null);
      await keys.touch(row.id, at(5));
      await keys.touch(row.id, at(3));
      await keys.touch('no such id', at(9));
      expect((await keys.findByHash(row.hash))?.lastUsedAt).toBe(at(5));
    });

    test('touch does not bring a revoked key back', async () => {
      const { keys } = subject.store;
      const row = keyOf();
      await keys.create(row, null);
      await keys.create(keyOf(), null);
      await Promise.all([keys.revoke(account, row.id, at(0)), keys.touch(row.id, at(5))]);
      expect(await keys.findByHash(row.hash)).toBeNull();
      expect(await keys.count(account)).toBe(1);
    });

    test('survives a restart', async () => {
      const row = keyOf();
      await subject.store.keys.create(row, null);
      expect(await (await subject.reopen()).keys.findByHash(row.hash)).toEqual(row);
    });

    test('account ids of any form stay apart', async () => {
      const { keys } = subject.store;
      for (const accountId of WEIRD_IDS) await keys.create(keyOf({ accountId, name: accountId }), null);
      for (const accountId of WEIRD_IDS) {
        expect((await keys.list(accountId)).map(({ name }) => name)).toEqual([accountId]);
      }
    });
  });
}
