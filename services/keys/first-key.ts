import assert from 'node:assert/strict';
import type { PlanName } from '../../lib/plans.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { Accounts, FIRST_ACCOUNT_ID } from './accounts.ts';
import { ApiKeys } from './api-keys.ts';
import { isPossibleSecret } from './secret.ts';

/**
 * On a store without accounts makes the account `default`, of `plan`, and its first key, which is
 * `secret` or a new one; gives the secret, else null. Throws StoreError.
 */
export function makeFirstKey(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  plan: PlanName,
  secret: string | null,
): Promise<string | null> {
  assert(secret === null || isPossibleSecret(secret));
  const accounts = new Accounts(store, new ApiKeys(store.keys, clock), clock);
  return accounts.bootstrap(plan, secret);
}

/**
 * Undoes `makeFirstKey` where nobody was told the secret: the next start makes another one. Throws
 * StoreError.
 */
export function forgetFirstKey({ store }: Pick<Runtime, 'store'>): Promise<unknown> {
  return store.catalog.deleteAccount(FIRST_ACCOUNT_ID);
}
