import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { INTERNAL_LIMITS } from '../../../../../lib/limits.ts';
import { collectionsPage } from '../../../../../services/collections/lifecycle/collections-page.ts';
import type { CollectionRow } from '../../../../../store/catalog.ts';
import { openedSqliteStore } from '../../../../contract/sqlite-opened.ts';
import type { OpenedStore } from '../../../../contract/store-contract.ts';
import { at, newCollection } from '../../../../contract/store-rows.ts';

let opened: OpenedStore;
beforeAll(async () => {
  opened = await openedSqliteStore();
});
afterAll(() => opened.destroy());

/** Creates an account with `count` collections. */
async function accountWith(count: number, change: Partial<CollectionRow>): Promise<string> {
  const accountId = randomUUID();
  const rows = Array.from({ length: count }, (_, i) => {
    return newCollection({ accountId, name: `c${i}`, createdAt: at(i), shards: 1, ...change });
  });
  await Promise.all(rows.map((row) => opened.store.catalog.createCollection(row, null)));
  return accountId;
}

async function pages(accountId: string, limit: number, isUncounted = false) {
  const found = [await collectionsPage(opened.store, { accountId, limit, isUncounted })];
  for (let cursor = found[0]!.nextCursor; cursor !== undefined; cursor = found.at(-1)!.nextCursor)
    found.push(await collectionsPage(opened.store, { accountId, limit, cursor, isUncounted }));
  return found;
}

test('a page ends when its text is long enough, and the next one continues', async () => {
  const tags = JSON.stringify(Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`tag${i}`, 'x'.repeat(120)])));
  const accountId = await accountWith(450, { tags });
  const found = await pages(accountId, 1_000, true);
  expect(found.length).toBeGreaterThan(1);
  for (const page of found) {
    expect(JSON.stringify(page).length).toBeLessThan(1.1 * INTERNAL_LIMITS.collectionsPageMaxBytes);
  }
  const names = found.flatMap(({ collections }) => collections.map(({ name }) => name));
  expect(names).toEqual(Array.from({ length: 450 }, (_, i) => `c${449 - i}`));
});

test('a page covers at most the maximum of shards', async () => {
  const accountId = await accountWith(40, { shards: 256 });
  const found = await pages(accountId, 1_000);
  const most = INTERNAL_LIMITS.collectionsPageMaxShards / 256;
  expect(found.map(({ collections }) => collections.length)).toEqual([most, most, 40 - 2 * most]);
});

test('a collection larger than a page has a page to itself', async () => {
  const accountId = await accountWith(3, { tags: JSON.stringify({ a: 'x'.repeat(2_000_000) }) });
  expect((await pages(accountId, 1_000, true)).map(({ collections }) => collections.length)).toEqual([1, 1, 1]);
});
