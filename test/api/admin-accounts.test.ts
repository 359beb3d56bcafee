import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AccountView } from '../../contracts/actions/keys.ts';
import type { UsageReport } from '../../contracts/actions/metering.ts';
import { DEFAULT_PLANS } from '../../lib/plans.ts';
import { type Api, apiClient } from '../support/api-client.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN, createTenant, operatorApi, TEST_KEY } from '../support/tenant.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const NOBODY = '00000000-0000-4000-8000-00000000ffff';
const ROUTES: [string, string, object | undefined][] = [
  ['POST', '/admin/accounts', { name: 'x', plan: 'free' }],
  ['GET', '/admin/accounts', undefined],
  ['PATCH', `/admin/accounts/${NOBODY}`, { plan: 'free' }],
  ['DELETE', `/admin/accounts/${NOBODY}`, undefined],
  ['GET', `/admin/accounts/${NOBODY}`, undefined],
  ['GET', `/admin/accounts/${NOBODY}/keys`, undefined],
  ['POST', `/admin/accounts/${NOBODY}/keys`, { name: 'x' }],
  ['DELETE', `/admin/accounts/${NOBODY}/keys/${NOBODY}`, undefined],
  ['GET', '/admin/audit', undefined],
  ['GET', '/admin/plans', undefined],
  ['PUT', '/admin/plans/x', DEFAULT_PLANS.pro],
  ['DELETE', '/admin/plans/x', undefined],
  ['GET', '/admin/nodes', undefined],
  ['POST', '/admin/nodes/x/drain', undefined],
  ['GET', '/admin/shards', undefined],
  ['POST', '/admin/shards/x.0/move', { node: 'x' }],
  ['GET', '/admin/collections', undefined],
  ['GET', '/admin/anchors', undefined],
  ['GET', '/admin/verifications', undefined],
  ['POST', '/admin/anchors/x/resume', undefined],
  ['POST', '/admin/backups', {}],
  ['GET', '/admin/backups', undefined],
  ['GET', '/admin/ledger', undefined],
];

describe('with an operator token', () => {
  let service: SharedService;
  let operator: Api;
  beforeAll(async () => {
    service = await shareService('anchored');
    operator = operatorApi(service);
  });
  const accounts = async () => (await operator<{ accounts: AccountView[] }>('GET', '/admin/accounts')).body.accounts;

  test('lists the first account', async () => {
    expect((await accounts())[0]).toEqual({
      id: expect.any(String),
      name: 'default',
      plan: 'enterprise',
      created_at: expect.stringMatching(TIME),
    });
  });

  test.each(['free', 'pro', 'business', 'enterprise'])(
    'creates one on the plan %s, with its first key',
    async (plan) => {
      const { status, body } = await operator<{ account: AccountView; key: { secret: string } }>(
        'POST',
        '/admin/accounts',
        { name: `of ${plan}`, plan },
      );
      expect({ status, body }).toEqual({
        status: 201,
        body: {
          account: {
            id: expect.stringMatching(UUID),
            name: `of ${plan}`,
            plan,
            created_at: expect.stringMatching(TIME),
          },
          key: {
            id: expect.stringMatching(UUID),
            name: expect.any(String),
            key_prefix: body.key.secret.slice(0, 12),
            scopes: ['read', 'write', 'manage'],
            created_at: expect.stringMatching(TIME),
            expires_at: null,
            last_used_at: null,
            revoked: false,
            secret: expect.stringMatching(/^pv_live_[A-Za-z0-9_-]{43}$/),
          },
        },
      });
      expect(await accounts()).toContainEqual(body.account);
      const usage = await apiClient(service.url, body.key.secret)<UsageReport>('GET', '/usage');
      expect(usage.body).toMatchObject({ plan, usage: { key_count: 1, collection_count: 0 } });
    },
  );

  test.each([
    ['GET', '/admin/ledger?collection=', 'collection'],
    ['GET', `/admin/ledger?collection=${'c'.repeat(1_025)}`, 'collection'],
    ['GET', `/admin/shards?collection=${'c'.repeat(1_025)}`, 'collection'],
    ['POST', `/admin/anchors/${'c'.repeat(1_025)}/resume`, 'collection'],
    ['POST', `/admin/shards/${'s'.repeat(1_025)}/move`, 'shard'],
    ['POST', `/admin/nodes/${'n'.repeat(1_025)}/drain`, 'node'],
  ])('%s %.40s is refused for a name that nothing can have', async (method, path, field) => {
    const { status, body } = await operator<{ error: string }>(
      method,
      path,
      path.endsWith('move') ? { node: 'n' } : undefined,
    );
    expect([status, body.error]).toEqual([400, expect.stringContaining(`${field} must be 1 to 1024 characters`)]);
  });

  test('lists accounts in order of creation', async () => {
    const made: string[] = [];
    for (let at = 0; at < 3; at++) made.push((await createTenant(service, 'free')).account.id);
    expect((await accounts()).map(({ id }) => id).filter((id) => made.includes(id))).toEqual(made);
  });

  test('changes a plan at once', async () => {
    const { account, api } = await createTenant(service, 'free');
    const { status, body } = await operator('PATCH', `/admin/accounts/${account.id}`, { plan: 'business' });
    expect({ status, body }).toEqual({ status: 200, body: { account: { ...account, plan: 'business' } } });
    expect((await api<UsageReport>('GET', '/usage')).body.plan).toBe('business');
  });

  test('deletes an account with everything it owns; its keys stop working at once', async () => {
    const { account, api } = await createTenant(service, 'pro');
    const kept = await createTenant(service, 'pro');
    for (const tenant of [api, kept.api]) {
      await tenant('POST', '/collections', { name: 'owned', dimensions: 1, shards: 8 });
      await tenant('POST', '/collections/owned/upsert', { records: [{ id: 'a', values: [1] }] });
    }
    const { status, body } = await operator('DELETE', `/admin/accounts/${account.id}`);
    expect({ status, body }).toEqual({ status: 200, body: { deleted: true } });
    expect(await api('GET', '/collections')).toEqual(refusal(401, 'UNAUTHENTICATED'));
    expect((await accounts()).map(({ id }) => id)).not.toContain(account.id);
    expect(await operator('DELETE', `/admin/accounts/${account.id}`)).toEqual(refusal(404, 'ACCOUNT_NOT_FOUND'));
    expect((await kept.api('GET', '/collections/owned/verify')).body).toMatchObject({ state: 'match', vectorCount: 1 });
  });

  test('replaces a lost key while the service runs', async () => {
    const { account, api } = await createTenant(service, 'free');
    const keys = `/admin/accounts/${account.id}/keys`;
    const { status, body } = await operator<{ key: { secret: string; id: string } }>('POST', keys, { name: 'new' });
    expect(status).toBe(201);
    // The Free plan has two keys.
    expect(await operator('POST', keys, { name: 'third' })).toEqual(
      refusal(429, 'PLAN_LIMIT_REACHED', { pricingUrl: expect.any(String) }),
    );
    const listed = await operator<{ keys: { id: string; name: string }[] }>('GET', keys);
    expect(listed.body.keys.map(({ name }) => name)).toEqual(['new', 'first key']);
    expect(JSON.stringify(listed.body)).not.toContain(body.key.secret);
    const lost = listed.body.keys[1]!;
    expect((await operator('DELETE', `${keys}/${lost.id}`)).body).toEqual({ revoked: true });
    expect(await api('GET', '/collections')).toEqual(refusal(401, 'UNAUTHENTICATED'));
    expect((await apiClient(service.url, body.key.secret)('GET', '/collections')).status).toBe(200);
    expect(await operator('DELETE', `${keys}/${lost.id}`)).toEqual(refusal(404, 'KEY_NOT_FOUND'));
    expect(await operator('DELETE', `${keys}/%00`)).toEqual(refusal(404, 'KEY_NOT_FOUND'));
    expect(await operator('DELETE', `${keys}/${body.key.id}`)).toEqual(refusal(409, 'LAST_KEY'));
  });

  test("a key is revoked only in its own account, and another account's keys are not listed", async () => {
    const [one, other] = [await createTenant(service, 'free'), await createTenant(service, 'free')];
    const { keys } = (await operator<{ keys: { id: string }[] }>('GET', `/admin/accounts/${one.account.id}/keys`)).body;
    expect(await operator('DELETE', `/admin/accounts/${other.account.id}/keys/${keys[0]!.id}`)).toEqual(
      refusal(404, 'KEY_NOT_FOUND'),
    );
    expect((await one.api('GET', '/collections')).status).toBe(200);
  });

  test('shows accounts with their usage, page by page', async () => {
    const { account, api } = await createTenant(service, 'free');
    await api('POST', '/collections', { name: 'used', dimensions: 1 });
    const { body } = await operator<{ account: AccountView }>('GET', `/admin/accounts/${account.id}`);
    expect(body.account).toEqual({ ...account, usage: expect.objectContaining({ plan: 'free' }) });
    expect(body.account.usage).toMatchObject({ usage: { collection_count: 1, key_count: 1 } });
    const found: AccountView[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page: { body: { accounts: AccountView[]; nextCursor?: string } } = await operator(
        'GET',
        `/admin/accounts?usage=true&limit=2${cursor && `&cursor=${cursor}`}`,
      );
      expect(page.body.accounts.length).toBeLessThanOrEqual(2);
      found.push(...page.body.accounts);
      cursor = page.body.nextCursor;
    }
    expect(found.find(({ id }) => id === account.id)).toEqual(body.account);
    expect(await operator('GET', '/admin/accounts?usage=yes')).toEqual(refusalOf('usage'));
  });

  test.each([
    ['/admin/shards?cursor=x', 'cursor'],
    ['/admin/collections?limit=1001', 'limit'],
    ['/admin/anchors?state=none', 'state'],
    ['/admin/verifications?cursor=x', 'cursor'],
    ['/admin/nodes?limit=1', 'limit'],
  ])('refuses %s', async (path, field) => {
    expect(await operator('GET', path)).toEqual(refusalOf(field));
  });

  test('returns 404 for an unknown account', async () => {
    for (const id of [NOBODY, 'x', '%00']) {
      expect(await operator('GET', `/admin/accounts/${id}`)).toEqual(refusal(404, 'ACCOUNT_NOT_FOUND'));
      expect(await operator('GET', `/admin/accounts/${id}/keys`)).toEqual(refusal(404, 'ACCOUNT_NOT_FOUND'));
      expect(await operator('POST', `/admin/accounts/${id}/keys`, { name: 'x' })).toEqual(
        refusal(404, 'ACCOUNT_NOT_FOUND'),
      );
      expect(await operator('DELETE', `/admin/accounts/${id}/keys/x`)).toEqual(refusal(404, 'ACCOUNT_NOT_FOUND'));
      expect(await operator('PATCH', `/admin/accounts/${id}`, { plan: 'pro' })).toEqual(
        refusal(404, 'ACCOUNT_NOT_FOUND'),
      );
      expect(await operator('DELETE', `/admin/accounts/${id}`)).toEqual(refusal(404, 'ACCOUNT_NOT_FOUND'));
    }
  });

  test.each<[string, { name?: string; plan?: string; limits?: object }, ...string[]]>([
    ['nothing', {}, 'name', 'plan'],
    ['an unknown plan', { name: 'of an unknown plan', plan: 'gold' }, 'plan'],
    ['an empty name', { name: '', plan: 'free' }, 'name'],
    ['65 characters', { name: 'x'.repeat(65), plan: 'free' }, 'name'],
    ['another field', { name: 'of another field', plan: 'free', limits: {} }, 'limits'],
  ])('refuses %s', async (_, request, ...paths) => {
    expect(await operator('POST', '/admin/accounts', request)).toEqual(refusalOf(...paths));
    // Other tests create accounts at the same time, but none with this name.
    const { name } = request;
    expect((await accounts()).filter((account) => account.name === name || !account.name)).toEqual([]);
  });

  test('refuses an unknown or missing plan', async () => {
    const { id } = (await createTenant(service, 'enterprise')).account;
    for (const request of [{}, { plan: 'Free' }, { plan: null }]) {
      expect(await operator('PATCH', `/admin/accounts/${id}`, request)).toEqual(refusalOf('plan'));
    }
    expect((await accounts()).find((account) => account.id === id)?.plan).toBe('enterprise');
  });

  test.each(ROUTES)('%s %s accepts neither an API key nor part of the token', async (method, path, body) => {
    for (const token of [TEST_KEY, ADMIN_TOKEN.slice(0, -1), `${ADMIN_TOKEN}x`, ADMIN_TOKEN.toUpperCase()]) {
      expect(await apiClient(service.url, token)(method, path, body)).toEqual(refusal(401, 'UNAUTHENTICATED'));
    }
  });

  test('accepts the token on no other route', async () => {
    for (const path of ['/collections', '/keys', '/usage']) {
      expect(await operator('GET', path)).toEqual(refusal(401, 'UNAUTHENTICATED'));
    }
  });
});

describe('without an operator token', () => {
  let service: SharedService;
  beforeAll(async () => {
    service = await shareService('unmanaged');
  });

  test.each(ROUTES)('%s %s does not exist', async (method, path, body) => {
    for (const token of [TEST_KEY, ADMIN_TOKEN, 'undefined', 'null']) {
      const answer = await apiClient(service.url, token)(method, path, body);
      expect(answer).toEqual(refusal(404, 'ROUTE_NOT_FOUND'));
    }
  });
});
