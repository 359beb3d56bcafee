import assert from 'node:assert/strict';
import type { PlanName } from '../../lib/plans.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { Catalog } from '../../store/catalog.ts';
import type { Position } from '../../store/page.ts';
import { FIRST_KEY, newAccount } from './accounts.ts';
import { ApiKeys } from './api-keys.ts';
import { isPossibleSecret } from './secret.ts';

type Parts = Pick<Runtime, 'store' | 'clock' | 'log'>;

export interface FirstKey {
  accountId: string;
  secret: string;
}

const PAGE_ROWS = 100;

/**
 * Creates the account `default` with `plan`, and its first key (`secret` or a new one), if the
 * store never had a key; else returns null. If several processes start at once, one of them creates
 * the key, because the store accepts only one key for that account. If a start was interrupted
 * between account and key, the next one completes it. Throws StoreError.
 */
export async function makeFirstKey(parts: Parts, plan: PlanName, secret: string | null): Promise<FirstKey | null> {
  assert(secret === null || isPossibleSecret(secret));
  const { store, clock } = parts;
  const accountId = await store.firstKey.dueFor();
  if (accountId === null) {
    await reportNoAccount(parts);
    return null;
  }
  if ((await store.catalog.getAccount(accountId)) === null) await makeFirstAccount(parts, accountId, plan);
  const key = await new ApiKeys(store.keys, clock).create(accountId, FIRST_KEY, 1, secret ?? undefined);
  await store.firstKey.setMade().catch(async (error: unknown) => {
    if (key) await store.catalog.deleteAccount(accountId);
    throw error;
  });
  return key && { accountId, secret: key.secret };
}

async function makeFirstAccount({ store, clock }: Parts, id: string, plan: PlanName): Promise<void> {
  try {
    await store.catalog.createAccount(newAccount(id, 'default', plan, clock));
  } catch (error) {
    // Another process was faster. The store decides which of them creates the key.
    if ((await store.catalog.getAccount(id)) === null) throw error;
  }
}

/** Logs an error if no account exists and none will be created. docs/operations.md quotes it. */
async function reportNoAccount({ store, log }: Parts): Promise<void> {
  if (await hasAccount(store.catalog)) return;
  log.error('the store has no account, but Provec already made its first key and makes no other one');
}

async function hasAccount(catalog: Pick<Catalog, 'accountsPage'>): Promise<boolean> {
  for (let after: Position | null = null; ; ) {
    const { rows, next } = await catalog.accountsPage(after, PAGE_ROWS);
    if (rows.length > 0 || next === null) return rows.length > 0;
    after = next;
  }
}

/** Undoes `makeFirstKey` if the secret was never shown. Throws StoreError. */
export async function forgetFirstKey({ store }: Pick<Runtime, 'store'>, { accountId }: FirstKey): Promise<void> {
  await store.catalog.deleteAccount(accountId);
  await store.firstKey.setDue(accountId);
}
