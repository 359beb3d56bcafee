import { planSchema, scopes } from '../../../contracts/requests/account-requests.ts';
import type { Descriptions } from './operation.ts';
import {
  countSchema,
  flagSchema,
  listSchema,
  MORE,
  nullableSchema,
  type OpenApiSchema,
  type OpenApiSchemas,
  object,
  ref,
  TRUE,
  textSchema,
  time,
} from './schema.ts';

const COUNTS = {
  write_count: 'Records upserted this month.',
  query_count: 'Queries and facets this month.',
  vector_count: 'Stored vectors.',
  collection_count: 'Collections.',
  key_count: 'API keys that are not revoked.',
};
const counts = (of: (description: string) => OpenApiSchema): OpenApiSchema =>
  object(Object.fromEntries(Object.entries(COUNTS).map(([name, description]) => [name, of(description)])));

const KEY: OpenApiSchemas = {
  id: textSchema('Id of the key, for revoking it.'),
  name: textSchema('Name of the key.'),
  key_prefix: textSchema('First 12 characters of the secret.'),
  scopes: scopes.schema,
  created_at: time(),
  expires_at: nullableSchema(time()),
  last_used_at: nullableSchema(time('Last use, to the minute.')),
  revoked: flagSchema('Always false in lists.'),
};

export const ACCOUNT_SCHEMAS: OpenApiSchemas = {
  Usage: object({
    month: textSchema('UTC month.', { pattern: '^\\d{4}-\\d{2}$' }),
    plan: planSchema,
    usage: counts(countSchema),
    limits: counts((description) => nullableSchema(countSchema(`${description} Null: no limit.`))),
    query_count_uncertainty: countSchema(
      'Number of queries in `usage.query_count` that may never have run: a node that stopped responding had reserved them. Usually 0.',
    ),
    resets_at: time('When the monthly counts reset.'),
    pricing_url: textSchema('Plans and prices.', { format: 'uri' }),
  }),
  UsageDay: object({
    day: textSchema('UTC day.', { format: 'date' }),
    write_count: countSchema('Records upserted that day.'),
    query_count: countSchema('Queries and facets counted that day.'),
  }),
  ApiKey: object(KEY),
  NewApiKey: object({ ...KEY, secret: textSchema('Secret of the key, shown only in this response.') }),
};

export const ACCOUNT_DESCRIPTIONS: Descriptions = {
  'metering.usage': ['getUsage', "This month's usage and the plan's limits", ref('Usage')],
  'metering.usageDays': [
    'getDailyUsage',
    'Usage of each of the last days, oldest first',
    object({ days: listSchema(ref('UsageDay')) }),
    'Provec counts a write for its day in the same step that stores it. A node counts its queries when it reports them to the store, seconds later: about midnight, some of them count for the next day. Days before this was counted have zeros. Provec keeps 400 days.',
  ],
  'keys.page': [
    'listKeys',
    'List keys, newest first, without their secrets',
    object({ keys: listSchema(ref('ApiKey')), nextCursor: MORE }, ['nextCursor']),
  ],
  'keys.create': [
    'createKey',
    'Create a key; only this response contains its secret',
    object({ key: ref('NewApiKey') }),
    'The new key may have scopes that the creating key lacks, since `manage` administers the account. Otherwise an account that lost its last key with `read` could never be read again.',
  ],
  'keys.revoke': ['revokeKey', 'Revoke a key', object({ revoked: TRUE })],
};
