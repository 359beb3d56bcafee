/**
 * Deletion of accounts in an adapter that needs several steps for it. A start completes an
 * interrupted deletion; an attacker with write access to the store fakes one.
 */
import { beforeEach, expect, test } from '@jest/globals';
import { Seals } from '../../../lib/secret/seals.ts';
import type { AccountState, StoredAccount, StoredCatalog } from '../../../store/catalog.ts';
import { ForgedRows } from '../../../store/forged-rows.ts';
import { payloadOfAccount, SealedCatalog } from '../../../store/sealed-catalog.ts';
import { newAccount } from '../../contract/store-rows.ts';
import { FORGED_KEYS, TEST_KEYS } from '../../support/store-keys.ts';

const account = newAccount();
const seals = new Seals(TEST_KEYS.catalog);
const sealAs = (state: AccountState, by = seals): string => by.sealHex(payloadOfAccount(account, state));

let stored: StoredAccount | null;
let deleted: string[][];
let told: unknown[];
let catalog: SealedCatalog;

beforeEach(() => {
  deleted = [];
  told = [];
  const adapter: Pick<StoredCatalog, 'getAccount' | 'accountsPage' | 'deleteAccount'> = {
    getAccount: async () => stored,
    accountsPage: async () => ({ rows: stored === null ? [] : [stored], next: null }),
    async deleteAccount(id, seal, deletingSeal) {
      deleted.push([id, seal, deletingSeal]);
      if (stored?.seal !== seal) return false;
      stored = null;
      return true;
    },
  };
  const forged = new ForgedRows({ error: (row: unknown) => void told.push(row) } as never);
  const aliases = { page: async () => ({ rows: [], next: null }) };
  catalog = new SealedCatalog({ catalog: adapter as StoredCatalog, aliases }, seals, forged);
});

test('an interrupted deletion is completed, and an account being deleted is gone for everyone', async () => {
  const seal = sealAs('deleting');
  stored = { ...account, state: 'deleting', seal };
  expect(await catalog.getAccount(account.id)).toBeNull();
  expect(await catalog.setPlan(account.id, 'pro')).toBeNull();
  expect(await catalog.listAccounts()).toEqual([]);
  await catalog.endDeletions();
  expect(deleted).toEqual([[account.id, seal, seal]]);
  expect(told).toEqual([]);
});

test('an account being deleted says so under its seal', async () => {
  stored = { ...account, state: 'live', seal: sealAs('live') };
  await catalog.endDeletions();
  expect(deleted).toEqual([]);
  expect(await catalog.deleteAccount(account.id)).toBe(true);
  expect(deleted).toEqual([[account.id, sealAs('live'), sealAs('deleting')]]);
  expect(await catalog.deleteAccount(account.id)).toBe(false);
});

test.each([
  ['marks a live account as being deleted', 'deleting', sealAs('live')],
  ['marks it, and puts another seal there', 'deleting', sealAs('deleting', new Seals(FORGED_KEYS.catalog))],
  ['removes the mark of one that is being deleted', 'live', sealAs('deleting')],
] as const)('someone %s: the start removes nothing, and the row is refused and reported', async (_, state, seal) => {
  stored = { ...account, state, seal };
  await catalog.endDeletions();
  expect(await catalog.listAccounts()).toEqual([]);
  for (const call of [
    () => catalog.getAccount(account.id),
    () => catalog.setPlan(account.id, 'pro'),
    () => catalog.deleteAccount(account.id),
  ])
    await expect(call()).rejects.toMatchObject({ kind: 'damaged' });
  expect(deleted).toEqual([]);
  expect(told).toEqual([{ row: `account ${account.id}` }]);
});
