import { plan, scopes } from '../../../lib/requests/account-requests.ts';
import type { RouteText } from './operation.ts';
import { flag, integer, list, nullable, object, ref, type Schema, type Schemas, text, time } from './schema.ts';

const COUNTS = {
  write_count: 'Records upserted this month.',
  query_count: 'Queries this month.',
  vector_count: 'Stored vectors.',
  collection_count: 'Collections.',
  key_count: 'API keys that are not revoked.',
};
const counts = (of: (description: string) => Schema): Schema =>
  object(Object.fromEntries(Object.entries(COUNTS).map(([name, description]) => [name, of(description)])));

export function accountSchemas(): Schemas {
  const key: Schemas = {
    id: text('For revoking.'),
    name: text('As given.'),
    key_prefix: text('First 12 characters of the secret.'),
    scopes: scopes.schema,
    created_at: time('ISO 8601 UTC.'),
    expires_at: nullable(time('ISO 8601 UTC.')),
    last_used_at: nullable(time('To the minute.')),
    revoked: flag('Always false in lists.'),
  };
  return {
    Usage: object({
      month: text('UTC month.', { pattern: '^\\d{4}-\\d{2}$' }),
      plan: plan.schema,
      usage: counts((description) => integer(description, { minimum: 0 })),
      limits: counts((description) => nullable(integer(`${description} Null: no limit.`, { minimum: 0 }))),
      query_count_uncertainty: integer(
        'Of `usage.query_count`, how many may not have been made: a node that does not answer took them beforehand. 0 in the ordinary course.',
        { minimum: 0 },
      ),
      resets_at: time('When the monthly counts start anew.'),
      pricing_url: text('Plans and prices.', { format: 'uri' }),
    }),
    ApiKey: object(key),
    NewApiKey: object({ ...key, secret: text('Shown this once.') }),
    Account: object({
      id: text('UUID.'),
      name: text('As given.'),
      plan: plan.schema,
      created_at: time('ISO 8601 UTC.'),
    }),
  };
}

export const ACCOUNT_TEXTS: readonly RouteText[] = [
  {
    route: 'GET /usage',
    id: 'getUsage',
    summary: "This month's usage and the plan's limits",
    tag: 'Usage',
    response: ref('Usage'),
    errors: [],
  },
  {
    route: 'GET /keys',
    id: 'listKeys',
    summary: 'List keys, without their secrets',
    tag: 'Keys',
    response: object({ keys: list(ref('ApiKey')) }),
    errors: [],
  },
  {
    route: 'POST /keys',
    id: 'createKey',
    summary: 'Create a key; its secret is in this answer only',
    description:
      'It may have scopes that the key which makes it lacks: `manage` administers the account. If it could not, nobody could read an account again whose last key with `read` is lost.',
    tag: 'Keys',
    response: object({ key: ref('NewApiKey') }),
    errors: ['PLAN_LIMIT_REACHED'],
  },
  {
    route: 'DELETE /keys/{id}',
    id: 'revokeKey',
    summary: 'Revoke a key',
    tag: 'Keys',
    response: object({ revoked: { type: 'boolean', const: true } }),
    errors: ['KEY_NOT_FOUND', 'LAST_KEY'],
  },
];

export const OPERATOR_TEXTS: readonly RouteText[] = [
  {
    route: 'POST /admin/accounts',
    id: 'createAccount',
    summary: 'Create an account with its first key',
    tag: 'Operator',
    response: object({ account: ref('Account'), key: ref('NewApiKey') }),
    errors: [],
  },
  {
    route: 'GET /admin/accounts',
    id: 'listAccounts',
    summary: 'List accounts',
    tag: 'Operator',
    response: object({ accounts: list(ref('Account')) }),
    errors: [],
  },
  {
    route: 'PATCH /admin/accounts/{id}',
    id: 'changePlan',
    summary: "Change an account's plan",
    tag: 'Operator',
    response: object({ account: ref('Account') }),
    errors: ['ACCOUNT_NOT_FOUND'],
  },
  {
    route: 'DELETE /admin/accounts/{id}',
    id: 'deleteAccount',
    summary: 'Delete an account with everything it owns',
    tag: 'Operator',
    response: object({ deleted: { type: 'boolean', const: true } }),
    errors: ['ACCOUNT_NOT_FOUND'],
  },
];
