/** Every route of the operator through a cluster's gateways: with the token, without, audited. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntriesPage } from '../../../contracts/actions/audit.ts';
import { DEFAULT_PLANS } from '../../../lib/plans.ts';
import { AUDITED_ACTIONS } from '../../../mixins/audit/audited-actions.ts';
import { OPERATOR_ROUTES } from '../../../services/gateway/operator-routes.ts';
import { type Api, apiClient } from '../../support/api-client.ts';
import { startBacking } from '../../support/backing-services.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { refusal } from '../../support/refusal.ts';
import { ADMIN_TOKEN, TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

interface Step {
  /** Method and path of the route, as it is defined. */
  route: string;
  path: string;
  body?: object;
  /** Status of the answer; default: 200. */
  status?: number;
  /** Members of the answer. */
  answer?: object;
}

let cluster: ClusterProcess;
let operators: Api[];
let collectionId: string;
let accountId: string;
let keyId: string;

beforeAll(async () => {
  const backing = await startBacking('SQLite + TCP');
  const environment = { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_LEDGER: 'off' };
  cluster = await ClusterProcess.start(backing, {
    ...{ shardNodes: 2, gateways: 2, controls: 2, isAsOnKubernetes: true, environment },
  });
  operators = cluster.gateways.map(({ url }) => apiClient(url!, ADMIN_TOKEN));
  const { body } = await cluster.api<{ collection: { id: string } }>('POST', '/collections', {
    ...{ name: 'docs', dimensions: 1, shards: 2 },
  });
  collectionId = body.collection.id;
  await cluster.api('POST', '/collections/docs/upsert', { records: [{ id: 'a', values: [1] }] });
  const made = await operators[0]<{ account: { id: string }; key: { id: string } }>('POST', '/admin/accounts', {
    ...{ name: 'acme', plan: 'free' },
  });
  [accountId, keyId] = [made.body.account.id, made.body.key.id];
});
afterAll(() => cluster?.dispose());

/** Requests that each route answers, in an order in which they can be made. */
async function steps(): Promise<Step[]> {
  const shard = `${collectionId}.0`;
  const { holder } = (await cluster.store.owners.get(shard))!;
  const target = cluster.shardNodes.find(({ id }) => id !== holder?.node)!.id;
  const account = `/admin/accounts/${accountId}`;
  return [
    { route: 'POST /admin/accounts', path: '/admin/accounts', body: { name: 'x', plan: 'free' }, status: 201 },
    { route: 'GET /admin/accounts', path: '/admin/accounts?usage=true' },
    { route: 'GET /admin/accounts/{id}', path: account, answer: { account: { name: 'acme' } } },
    { route: 'GET /admin/plans', path: '/admin/plans' },
    { route: 'PUT /admin/plans/{plan}', path: '/admin/plans/gold', body: DEFAULT_PLANS.pro },
    { route: 'PATCH /admin/accounts/{id}', path: account, body: { plan: 'gold' } },
    { route: 'DELETE /admin/plans/{plan}', path: '/admin/plans/gold', status: 409 },
    { route: 'GET /admin/accounts/{id}/keys', path: `${account}/keys` },
    { route: 'POST /admin/accounts/{id}/keys', path: `${account}/keys`, body: { name: 'k' }, status: 201 },
    { route: 'DELETE /admin/accounts/{id}/keys/{key}', path: `${account}/keys/${keyId}` },
    { route: 'GET /admin/audit', path: '/admin/audit' },
    { route: 'GET /admin/nodes', path: '/admin/nodes', answer: { omitted: 0 } },
    { route: 'GET /admin/shards', path: '/admin/shards', answer: { unreachable: [] } },
    {
      route: 'POST /admin/shards/{shard}/move',
      path: `/admin/shards/${shard}/move`,
      body: { node: target },
      answer: { shard, node: target },
    },
    { route: 'GET /admin/collections', path: '/admin/collections', answer: { collections: [{ id: collectionId }] } },
    { route: 'GET /admin/anchors', path: '/admin/anchors', answer: { anchors: [{ state: 'none' }] } },
    { route: 'GET /admin/verifications', path: '/admin/verifications', answer: { unreachable: [] } },
    { route: 'POST /admin/anchors/{collection}/resume', path: `/admin/anchors/${collectionId}/resume`, status: 400 },
    { route: 'POST /admin/backups', path: '/admin/backups', body: {}, status: 400 },
    { route: 'GET /admin/backups', path: '/admin/backups', status: 400 },
    { route: 'GET /admin/ledger', path: '/admin/ledger', answer: { enabled: false } },
    {
      route: 'POST /admin/nodes/{node}/drain',
      path: `/admin/nodes/${target}/drain`,
      answer: { node: target, left: 0 },
    },
    { route: 'DELETE /admin/accounts/{id}', path: account, answer: { deleted: true } },
  ];
}

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

async function trail(api: Api, query = ''): Promise<AuditEntriesPage['entries']> {
  const entries: AuditEntriesPage['entries'] = [];
  for (let cursor = '0'; ; ) {
    const { body } = await api<AuditEntriesPage>('GET', `/admin/audit?cursor=${cursor}${query}`);
    entries.push(...body.entries);
    if (body.nextCursor === undefined) return entries;
    cursor = body.nextCursor;
  }
}

test('each request is made here', async () => {
  const made = (await steps()).map(({ route }) => route);
  expect(made.toSorted()).toEqual(OPERATOR_ROUTES.map(nameOf).toSorted());
});

describe('without the token', () => {
  test.each([
    ['an API key', TEST_KEY],
    ['another token', `${ADMIN_TOKEN}x`],
  ])('every route refuses %s at every gateway, and nothing is changed or audited', async (_, token) => {
    const before = await trail(operators[0]);
    for (const { url } of cluster.gateways) {
      for (const { route, path, body } of await steps()) {
        const answer = await apiClient(url!, token)(route.split(' ')[0]!, path, body);
        expect({ route, answer }).toEqual({ route, answer: refusal(401, 'UNAUTHENTICATED') });
      }
    }
    expect(await trail(operators[0])).toEqual(before);
  });
});

test('with the token every route answers at any gateway, and every change is audited', async () => {
  const all = await steps();
  for (const [at, { route, path, body, status = 200, answer = {} }] of all.entries()) {
    const found = await operators[at % operators.length](route.split(' ')[0]!, path, body);
    expect({ route, ...found }).toMatchObject({ route, status, body: answer });
  }
  const entries = [...(await trail(operators[1])), ...(await trail(operators[1], `&account=${accountId}`))];
  const byId = Map.groupBy(entries, ({ id }) => id);
  const changes = [...byId.values()].map((both) => Object.assign({}, ...both) as Record<string, unknown>);
  for (const { route, status = 200 } of all) {
    const { action } = OPERATOR_ROUTES.find((each) => nameOf(each) === route)!;
    const audited = AUDITED_ACTIONS[action];
    if (audited === undefined) continue;
    const outcome = status < 300 ? 'done' : 'refused';
    const change = changes.find((each) => each.action === audited.name && each.outcome === outcome);
    expect({ route, change }).toMatchObject({
      route,
      change: { actor: { type: 'operator' }, address: expect.stringMatching(/127\.0\.0\.1/) },
    });
  }
});

test('every gateway gives the same answers', async () => {
  for (const path of ['/admin/accounts', '/admin/plans', '/admin/shards', '/admin/collections', '/admin/anchors']) {
    await until(`the gateways agree on ${path}`, async () => {
      const answers = await Promise.all(operators.map(async (api) => JSON.stringify((await api('GET', path)).body)));
      return new Set(answers).size === 1;
    });
  }
});

test('a changed plan applies at every gateway within half a second', async () => {
  const limits = { ...DEFAULT_PLANS.enterprise, collections: 1 };
  expect((await operators[0]('PUT', '/admin/plans/small', limits)).status).toBe(200);
  const { body } = await operators[1]<{ key: { secret: string } }>('POST', '/admin/accounts', {
    ...{ name: 'small', plan: 'small' },
  });
  const tenants = cluster.gateways.map(({ url }) => apiClient(url!, body.key.secret));
  const create = (at: number, name: string) => tenants[at]('POST', '/collections', { name, dimensions: 1 });
  expect((await create(0, 'one')).status).toBe(201);
  for (const at of [0, 1]) expect((await create(at, 'two')).status).toBe(429);
  await operators[1]('PUT', '/admin/plans/small', { ...limits, collections: 3 });
  const changedMs = performance.now();
  await until('it applies', async () => (await create(0, 'two')).status === 201);
  await until('it applies', async () => (await create(1, 'three')).status === 201);
  // Requests take a while on a busy machine; the half second itself is held by unit tests.
  expect(performance.now() - changedMs).toBeLessThan(5_000);
});
