import { plan, scopes } from '../../../lib/requests/account-requests.ts';
import type { AllWords } from './operation.ts';
import {
  count,
  flag,
  list,
  MORE,
  nullable,
  object,
  ref,
  type Schema,
  type Schemas,
  TRUE,
  text,
  time,
} from './schema.ts';

const COUNTS = {
  write_count: 'Records upserted this month.',
  query_count: 'Queries and facets this month.',
  vector_count: 'Stored vectors.',
  collection_count: 'Collections.',
  key_count: 'API keys that are not revoked.',
};
const counts = (of: (description: string) => Schema): Schema =>
  object(Object.fromEntries(Object.entries(COUNTS).map(([name, description]) => [name, of(description)])));

const KEY: Schemas = {
  id: text('Id of the key, for revoking it.'),
  name: text('Name of the key.'),
  key_prefix: text('First 12 characters of the secret.'),
  scopes: scopes.schema,
  created_at: time(),
  expires_at: nullable(time()),
  last_used_at: nullable(time('Last use, to the minute.')),
  revoked: flag('Always false in lists.'),
};

export const ACCOUNT_SCHEMAS: Schemas = {
  Usage: object({
    month: text('UTC month.', { pattern: '^\\d{4}-\\d{2}$' }),
    plan: plan.schema,
    usage: counts(count),
    limits: counts((description) => nullable(count(`${description} Null: no limit.`))),
    query_count_uncertainty: count(
      'Number of queries in `usage.query_count` that may never have run: a node that stopped responding had reserved them. Usually 0.',
    ),
    resets_at: time('When the monthly counts reset.'),
    pricing_url: text('Plans and prices.', { format: 'uri' }),
  }),
  ApiKey: object(KEY),
  NewApiKey: object({ ...KEY, secret: text('Secret of the key, shown only in this response.') }),
};
/** Schemas that only operator routes use. */
export const OPERATOR_SCHEMAS: Schemas = {
  Account: object({ id: text('UUID.'), name: text('Name of the account.'), plan: plan.schema, created_at: time() }),
};

const [account, key] = [ref('Account'), ref('NewApiKey')];

export const ACCOUNT_WORDS: AllWords = {
  'metering.usage': ['getUsage', "This month's usage and the plan's limits", ref('Usage')],
  'keys.page': [
    'listKeys',
    'List keys, newest first, without their secrets',
    object({ keys: list(ref('ApiKey')), nextCursor: MORE }, ['nextCursor']),
  ],
  'keys.create': [
    'createKey',
    'Create a key; only this response contains its secret',
    object({ key }),
    'The new key may have scopes that the creating key lacks, since `manage` administers the account. Otherwise an account that lost its last key with `read` could never be read again.',
  ],
  'keys.revoke': ['revokeKey', 'Revoke a key', object({ revoked: TRUE })],
  'keys.createAccount': ['createAccount', 'Create an account with its first key', object({ account, key })],
  'keys.accountsPage': [
    'listAccounts',
    'List accounts, oldest first',
    object({ accounts: list(account), nextCursor: MORE }, ['nextCursor']),
  ],
  'keys.setPlan': ['changePlan', "Change an account's plan", object({ account })],
  'keys.deleteAccount': ['deleteAccount', 'Delete an account with everything it owns', object({ deleted: TRUE })],
};
