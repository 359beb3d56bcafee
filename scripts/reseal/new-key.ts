import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { ApiKeys } from '../../services/keys/api-keys.ts';
import { SCOPES } from '../../store/keys.ts';
import type { Store } from '../../store/port.ts';

/**
 * Creates an API key with every scope, regardless of the account's plan, and returns its secret.
 * Throws StoreError, or an error when the account does not exist.
 */
export async function newKey({ catalog, keys }: Pick<Store, 'catalog' | 'keys'>, accountId: string): Promise<string> {
  if ((await catalog.getAccount(accountId)) === null) throw new Error(`There is no account ${accountId}.`);
  const wanted = { name: 'made by the operator', scopes: [...SCOPES], expiresAt: null };
  const made = await new ApiKeys(keys, SYSTEM_CLOCK).create(accountId, wanted, null);
  if (made === null) throw new Error(`The account ${accountId} has the maximum number of stored keys.`);
  return made.secret;
}
