import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AccountView } from '../../contracts/actions/keys.ts';
import type { UsageReport } from '../../contracts/actions/metering.ts';
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

  test('returns 404 for an unknown account', async () => {
    for (const id of [NOBODY, 'x', '%00']) {
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
