import pLimit from 'p-limit';
import { REFERENCE_CHARS, type RowRange, TABLE_PAGE, type TablePage } from '../../contracts/actions/cluster.ts';
import type { AccountsPage } from '../../contracts/actions/keys.ts';
import { isProvecError } from '../../lib/errors.ts';
import { invalidValue } from '../../lib/records/fields.ts';
import { OPERATOR_TRAIL } from '../../store/audit.ts';
import { PROVEC } from './dialect.ts';
import { auditPageOf, fullPageOf, positionedPageOf } from './page-query.ts';
import { describeParameter } from './query-string.ts';
import { type RouteCall, type RouteInput, routesBelow } from './route.ts';

const route = routesBelow(PROVEC);

/** Maximum accounts of a page with their usage, which takes a call for each. */
const USAGE_PAGE_MAX = 100;
/** Accounts whose usage one request reads at a time. */
const USAGES_AT_ONCE = 8;

/** Timeout in ms for moving a shard, longer than the steps of the move. */
const MOVE_TIMEOUT_MS = 240_000;
/** Timeout in ms for draining a node, longer than the drain. */
const DRAIN_TIMEOUT_MS = 90_000;

const PAGE = ['limit', 'cursor'];

/** Returns a page of accounts with their usage, without accounts that were deleted meanwhile. */
async function accountsWithUsage(page: { limit: number; cursor?: string }, call: RouteCall): Promise<AccountsPage> {
  const { accounts, ...more } = await call('keys.accountsPage', page);
  const known = await pLimit(USAGES_AT_ONCE).map(accounts, async (account) => {
    try {
      return [{ ...account, usage: await call('metering.usage', { accountId: account.id }) }];
    } catch (error) {
      if (isProvecError(error) && error.code === 'ACCOUNT_NOT_FOUND') return [];
      throw error;
    }
  });
  return { accounts: known.flat(), ...more };
}

function wantsUsage(query: RouteInput['query']): boolean {
  const usage = query.get('usage') ?? 'false';
  if (usage !== 'true' && usage !== 'false') throw invalidValue('usage', 'true or false', describeParameter(usage));
  return usage === 'true';
}

/** Returns the requested rows. A cursor is the offset of the first row. */
function rowsOf(query: RouteInput['query']): RowRange {
  const { limit, position: offset } = positionedPageOf(query, TABLE_PAGE.maximum);
  return { ...(limit !== undefined && { limit }), ...(offset !== undefined && { offset }) };
}

/** Returns a page whose rows are called `name`. */
const tableAnswer =
  (name: string) =>
  <T>({ rows, next, ...others }: TablePage<T>): object => ({
    [name]: rows,
    ...others,
    ...(next !== null && { nextCursor: `${next}` }),
  });

/** Returns what names a node, a shard or a collection. Throws if it can name none. */
function reference(field: string, text: string): string {
  const { min, max } = REFERENCE_CHARS;
  if (text.length >= min && text.length <= max) return text;
  throw invalidValue(field, `${min} to ${max} characters`, describeParameter(text));
}

function collectionOf(query: RouteInput['query']): { collection?: string } {
  const collection = query.get('collection');
  return collection === undefined ? {} : { collection: reference('collection', collection) };
}

function standingOf(query: RouteInput['query']): { standing?: 'due' | 'halted' } {
  const state = query.get('state');
  if (state === undefined) return {};
  if (state === 'pending') return { standing: 'due' };
  if (state === 'halted') return { standing: 'halted' };
  throw invalidValue('state', 'pending or halted', describeParameter(state));
}

/** Returns a name that sorts by time. */
const newBackupName = (): string => new Date().toISOString().replaceAll(/[:.]/g, '-');

const inAccount = ({ target }: Pick<RouteInput, 'target'>) => ({ accountId: target });

const ACCOUNT_ROUTES = [
  route('POST', '/admin/accounts', 'keys.createAccount', 'operator', {
    queue: 'perAccount',
    body: 'createAccount',
    status: 201,
    params: ({ body }) => body,
  }),
  route('GET', '/admin/accounts', 'keys.accountsPage', 'operator', {
    queue: 'perAccount',
    query: [...PAGE, 'usage'],
    perform: ({ query, limits }, call) => {
      const page = fullPageOf(query, limits.accountsPageMax);
      if (!wantsUsage(query)) return call('keys.accountsPage', page);
      return accountsWithUsage({ ...page, limit: Math.min(page.limit, USAGE_PAGE_MAX) }, call);
    },
  }),
  route('GET', '/admin/accounts/{id}', 'keys.account', 'operator', {
    queue: 'perAccount',
    perform: async ({ target }, call) => {
      const account = await call('keys.account', { id: target });
      return { account: { ...account, usage: await call('metering.usage', { accountId: target }) } };
    },
  }),
  route('PATCH', '/admin/accounts/{id}', 'keys.setPlan', 'operator', {
    queue: 'perAccount',
    body: 'changePlan',
    params: ({ body, target }) => ({ ...body, id: target }),
    answer: (account) => ({ account }),
  }),
  route('DELETE', '/admin/accounts/{id}', 'keys.deleteAccount', 'operator', {
    queue: 'perAccount',
    params: ({ target }) => ({ id: target }),
  }),
  route('GET', '/admin/plans', 'keys.plans', 'operator', { queue: 'perAccount' }),
  route('PUT', '/admin/plans/{plan}', 'keys.putPlan', 'operator', {
    queue: 'perAccount',
    body: 'putPlan',
    params: ({ body, target }) => ({ ...body, plan: target }),
    answer: (plan) => ({ plan }),
  }),
  route('DELETE', '/admin/plans/{plan}', 'keys.deletePlan', 'operator', {
    queue: 'perAccount',
    params: ({ target }) => ({ plan: target }),
  }),
  route('GET', '/admin/accounts/{id}/keys', 'keys.page', 'operator', {
    queue: 'perAccount',
    query: PAGE,
    perform: async (input, call) => {
      await call('keys.account', { id: input.target });
      return call('keys.page', { ...inAccount(input), ...fullPageOf(input.query, input.limits.keysPageMax) });
    },
  }),
  route('POST', '/admin/accounts/{id}/keys', 'keys.create', 'operator', {
    queue: 'perAccount',
    body: 'createKey',
    status: 201,
    params: (input) => ({ ...input.body, ...inAccount(input) }),
    answer: (key) => ({ key }),
  }),
  route('DELETE', '/admin/accounts/{id}/keys/{key}', 'keys.revoke', 'operator', {
    queue: 'perAccount',
    perform: async (input, call) => {
      await call('keys.account', { id: input.target });
      return call('keys.revoke', { ...inAccount(input), id: input.item });
    },
  }),
];

function trailOf(query: RouteInput['query']): string {
  const account = query.get('account');
  if (account === undefined) return OPERATOR_TRAIL;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(account))
    throw invalidValue('account', 'an account id', describeParameter(account));
  return account;
}

const AUDIT_ROUTES = [
  route('GET', '/admin/audit', 'keys.auditPage', 'operator', {
    queue: 'perAccount',
    query: ['account', ...PAGE],
    params: ({ query }) => ({ trail: trailOf(query), ...auditPageOf(query) }),
  }),
];

const CLUSTER_ROUTES = [
  route('GET', '/admin/nodes', 'cluster.nodes', 'operator', { queue: 'perAccount' }),
  route('POST', '/admin/nodes/{node}/drain', 'cluster.drain', 'operator', {
    queue: 'perAccount',
    timeoutMs: DRAIN_TIMEOUT_MS,
    params: ({ target }) => ({ node: reference('node', target) }),
  }),
  route('GET', '/admin/shards', 'cluster.shards', 'operator', {
    queue: 'perAccount',
    query: ['collection', ...PAGE],
    params: ({ query }) => ({ ...collectionOf(query), ...rowsOf(query) }),
    answer: tableAnswer('shards'),
  }),
  route('POST', '/admin/shards/{shard}/move', 'cluster.move', 'operator', {
    queue: 'perAccount',
    body: 'moveShard',
    timeoutMs: MOVE_TIMEOUT_MS,
    params: ({ target, body: { node } }) => ({ shard: reference('shard', target), node }),
    answer: ({ shard, from, to }) => ({ shard, node: to, previousNode: from }),
  }),
  route('GET', '/admin/collections', 'cluster.collections', 'operator', {
    queue: 'perAccount',
    query: PAGE,
    params: ({ query }) => rowsOf(query),
    answer: tableAnswer('collections'),
  }),
  route('GET', '/admin/anchors', 'cluster.anchors', 'operator', {
    queue: 'perAccount',
    query: ['state', ...PAGE],
    params: ({ query }) => ({ ...standingOf(query), ...rowsOf(query) }),
    answer: tableAnswer('anchors'),
  }),
  route('GET', '/admin/verifications', 'cluster.verifications', 'operator', {
    queue: 'perAccount',
    query: PAGE,
    params: ({ query }) => rowsOf(query),
    answer: tableAnswer('verifications'),
  }),
  route('POST', '/admin/anchors/{collection}/resume', 'cluster.resume', 'operator', {
    queue: 'perAccount',
    timeoutMs: MOVE_TIMEOUT_MS,
    params: ({ target }) => ({ collection: reference('collection', target) }),
  }),
  route('POST', '/admin/backups', 'cluster.startBackup', 'operator', {
    queue: 'perAccount',
    body: 'startBackup',
    status: 202,
    params: ({ body: { name = newBackupName(), ...options } }) => ({ name, ...options }),
    answer: (backup) => ({ backup }),
  }),
  route('GET', '/admin/backups', 'cluster.backups', 'operator', {
    queue: 'perAccount',
    query: PAGE,
    params: ({ query }) => rowsOf(query),
    answer: tableAnswer('backups'),
  }),
  route('GET', '/admin/ledger', 'cluster.ledger', 'operator', {
    queue: 'perAccount',
    query: ['collection'],
    params: ({ query }) => collectionOf(query),
    answer: ({ account, ...info }) => ({ ...info, ...(account !== null && { account }) }),
  }),
];

/** Routes below `/admin`, which only the operator may use. */
export const OPERATOR_ROUTES = [...ACCOUNT_ROUTES, ...AUDIT_ROUTES, ...CLUSTER_ROUTES];
