import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { ApiKeys } from '../../services/keys/api-keys.ts';
import { SCOPES } from '../../store/keys.ts';
import type { Store } from '../../store/port.ts';
import { quoteValue } from './report.ts';

/** Maximum number of accounts in an error. */
const NAMED_MAX = 20;

/**
 * Creates an API key with every scope, regardless of the account's plan, and returns its secret.
 * Throws StoreError, or an error that names the accounts if this one does not exist.
 */
export async function newKey({ catalog, keys }: Pick<Store, 'catalog' | 'keys'>, accountId: string): Promise<string> {
  if ((await catalog.getAccount(accountId)) === null)
    throw new Error(`There is no account ${accountId}. ${await accountsIn(catalog)}`);
  const wanted = { name: 'made by the operator', scopes: [...SCOPES], expiresAt: null };
  const made = await new ApiKeys(keys, SYSTEM_CLOCK).create(accountId, wanted, null);
  if (made === null) throw new Error(`The account ${accountId} has the maximum number of stored keys.`);
  return made.secret;
}

/** Names the first accounts: without a key and the admin token, nothing else shows their ids. */
async function accountsIn(catalog: Store['catalog']): Promise<string> {
  const { rows, next } = await catalog.accountsPage(null, NAMED_MAX);
  if (rows.length === 0) return 'The store has none.';
  const named = rows.map(({ id, name }) => `${id} (${quoteValue(name)})`).join(', ');
  return next === null ? `The accounts are ${named}.` : `The first ${NAMED_MAX} accounts are ${named}.`;
}
