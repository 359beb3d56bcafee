import assert from 'node:assert/strict';
import type { PlanName } from '../../lib/plans.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { FIRST_KEY, newAccount } from './accounts.ts';
import { ApiKeys } from './api-keys.ts';
import { isPossibleSecret } from './secret.ts';

/**
 * Id of the account of the first start: fixed, so that two processes that start at once mean the
 * same row.
 */
export const FIRST_ACCOUNT_ID = '00000000-0000-4000-8000-000000000001';

type Parts = Pick<Runtime, 'store' | 'clock'>;

/**
 * On a store without accounts makes the account `default`, of `plan`, and its first key, which is
 * `secret` or a new one; gives the secret, else null. Of several processes that start at once one
 * makes the key: the store takes one key for the account and no second. A start that was cut off
 * between account and key is taken up by the next one. Throws StoreError.
 */
export async function makeFirstKey(parts: Parts, plan: PlanName, secret: string | null): Promise<string | null> {
  assert(secret === null || isPossibleSecret(secret));
  const { store, clock } = parts;
  const accounts = await store.catalog.listAccounts();
  if (accounts.some((account) => account.id !== FIRST_ACCOUNT_ID)) return null;
  // Also where its row is not believed, and so not in the list, or its keys are not.
  if (await store.keys.hasAny(FIRST_ACCOUNT_ID)) return null;
  if (accounts.length === 0) await makeFirstAccount(parts, plan);
  const key = await new ApiKeys(store.keys, clock).create(FIRST_ACCOUNT_ID, FIRST_KEY, 1, secret ?? undefined);
  return key?.secret ?? null;
}

async function makeFirstAccount({ store, clock }: Parts, plan: PlanName): Promise<void> {
  try {
    await store.catalog.createAccount(newAccount(FIRST_ACCOUNT_ID, 'default', plan, clock));
  } catch (error) {
    // Another process was faster; which of the two makes the key is decided next.
    if ((await store.catalog.getAccount(FIRST_ACCOUNT_ID)) === null) throw error;
  }
}

/**
 * Undoes `makeFirstKey` where nobody was told the secret: the next start makes another one. Throws
 * StoreError.
 */
export function forgetFirstKey({ store }: Pick<Runtime, 'store'>): Promise<unknown> {
  return store.catalog.deleteAccount(FIRST_ACCOUNT_ID);
}
