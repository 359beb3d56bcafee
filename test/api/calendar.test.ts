/**
 * Behaviour that depends on the calendar: months of usage, plan limits per month, and times of
 * keys. Uses one service, whose clock stands still until the test moves it.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KeyView } from '../../contracts/actions/keys.ts';
import type { UsageReport } from '../../contracts/actions/metering.ts';
import { ManualClock } from '../support/accounts.ts';
import { type Answer, type Api, apiClient } from '../support/api-client.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { ADMIN_TOKEN, createTenant, operatorApi, TEST_KEY, type Tenant } from '../support/tenant.ts';

const PRICING = 'https://pricing.example/plans';
const clock = new ManualClock('2026-10-31T23:40:00.000Z');
const moveTo = (iso: string) => clock.advance(Date.parse(iso) - clock.wallMs());

let service: TestService;
beforeAll(async () => {
  const environment = { PROVEC_LEDGER: 'off', PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_PRICING_URL: PRICING };
  service = await startService(environment, { clock });
});
afterAll(() => service.stop());

const usageOf = async (api: Api) => (await api<UsageReport>('GET', '/usage')).body;

test.each([
  ['free', [1_000, 10_000, 5_000, 2, 2]],
  ['pro', [50_000, 500_000, 500_000, 25, 5]],
  ['business', [500_000, 5_000_000, 5_000_000, null, 10_000]],
  ['enterprise', [null, null, null, null, 10_000]],
])('the plan %s and its limits', async (plan, [writes, queries, vectors, collections, keys]) => {
  const { api } = await createTenant(service, plan);
  expect(await usageOf(api)).toEqual({
    month: '2026-10',
    plan,
    usage: { write_count: 0, query_count: 0, vector_count: 0, collection_count: 0, key_count: 1 },
    limits: {
      write_count: writes,
      query_count: queries,
      vector_count: vectors,
      collection_count: collections,
      key_count: keys,
    },
    query_count_uncertainty: 0,
    resets_at: '2026-11-01T00:00:00.000Z',
    pricing_url: PRICING,
  });
});

describe('keys', () => {
  type Issued = KeyView & { secret: string };
  const now = () => new Date(clock.wallMs()).toISOString();
  const create = async (request: object) => (await service.api<{ key: Issued }>('POST', '/keys', request)).body.key;
  const list = async () => (await service.api<{ keys: KeyView[] }>('GET', '/keys')).body.keys;
  const withKey = (secret: string) => apiClient(service.url, secret);
  const unauthenticated = refusal(401, 'UNAUTHENTICATED');

  test('refuses an expiry that is in the past or exactly now', async () => {
    const ids = async () => (await list()).map(({ id }) => id);
    const before = await ids();
    for (const expires_at of [now(), '2026-10-31T23:39:59.999Z'])
      expect(await service.api('POST', '/keys', { name: 'x', expires_at })).toEqual(refusalOf('expires_at'));
    expect(await ids()).toEqual(before);
  });

  test('lists keys newest first, without secrets, with their last use, even after a restart', async () => {
    clock.advance(1_000);
    const older = await create({ name: 'older' });
    expect(older.created_at).toBe(now());
    clock.advance(1_000);
    const newer = await create({ name: 'newer' });
    expect((await list()).slice(0, 2).map(({ id }) => id)).toEqual([newer.id, older.id]);
    await withKey(older.secret)('GET', '/collections');
    await service.restart();
    const used = (await list()).find(({ id }) => id === older.id);
    expect(used).toMatchObject({ last_used_at: now() });
    for (const key of await list()) expect(key).not.toHaveProperty('secret');
  });

  test('refuses an expired key from the instant of its expiry, like an unknown one', async () => {
    const expires_at = new Date(clock.wallMs() + 60_000).toISOString();
    const { secret } = await create({ name: 'short-lived', expires_at });
    clock.advance(59_999);
    expect(await withKey(secret)('GET', '/collections')).toMatchObject({ status: 200 });
    clock.advance(1);
    const expired = await withKey(secret)('GET', '/collections');
    expect(expired).toEqual(unauthenticated);
    const unknown = await withKey(`pv_live_${'x'.repeat(43)}`)('GET', '/collections');
    expect(unknown.body.error).toBe(expired.body.error);
    expect(await withKey(TEST_KEY)('GET', '/collections')).toMatchObject({ status: 200 });
  });
});

describe('usage', () => {
  test('a new month begins at midnight UTC: counts of writes and queries restart, stored vectors stay', async () => {
    moveTo('2026-10-31T23:59:00.000Z');
    const { api } = await createTenant(service, 'pro');
    await api('POST', '/collections', { name: 'monthly', dimensions: 1 });
    await api('POST', '/collections/monthly/upsert', { records: [{ id: 'a', values: [1] }] });
    await api('POST', '/collections/monthly/query', { vector: [1] });
    clock.advance(59_999);
    expect(await usageOf(api)).toMatchObject({ month: '2026-10', usage: { write_count: 1, query_count: 1 } });
    clock.advance(1);
    expect(await usageOf(api)).toMatchObject({
      month: '2026-11',
      usage: { write_count: 0, query_count: 0, vector_count: 1, collection_count: 1, key_count: 1 },
      resets_at: '2026-12-01T00:00:00.000Z',
    });
  });

  test('survives a restart', async () => {
    const before = await usageOf(service.api);
    await service.api('POST', '/collections', { name: 'kept', dimensions: 1 });
    await service.api('POST', '/collections/kept/upsert', { records: [{ id: 'a', values: [1] }] });
    for (let at = 0; at < 3; at++) await service.api('POST', '/collections/kept/query', { vector: [1] });
    const plans = { free: { writes: 20, vectors: 12, queries: 3, collections: 2, keys: 3 } };
    await service.restart({ PROVEC_PLANS: JSON.stringify(plans) });
    expect((await usageOf(service.api)).usage).toEqual({
      ...before.usage,
      write_count: before.usage.write_count + 1,
      query_count: before.usage.query_count + 3,
      vector_count: before.usage.vector_count + 1,
      collection_count: before.usage.collection_count + 1,
    });
  });
});

describe('limits', () => {
  /** Seconds until the end of the month. */
  const SECONDS_LEFT = 1_000;
  const RESETS = '2026-12-01T00:00:00.000Z';
  let tenant: Tenant;
  beforeAll(async () => {
    moveTo('2026-11-30T23:43:20.000Z');
    tenant = await createTenant(service, 'free');
  });

  const numbered = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => ({ id: `r${from + at}`, values: [1, from + at] }));
  const upsert = (from: number, count: number) =>
    tenant.api('POST', '/collections/limited/upsert', { records: numbered(from, count) });
  const query = () => tenant.api('POST', '/collections/limited/query', { vector: [1, 2] });
  const usage = async () => (await usageOf(tenant.api)).usage;

  /**
   * Expects the exact 429. Its message gives the limit, the use, the requested amount, and where to
   * find larger plans. It must not make clients sleep until the month ends.
   */
  function expectLimit(answer: Answer<unknown>, sentence: string): void {
    expect(answer).toEqual(
      refusal(429, 'PLAN_LIMIT_REACHED', {
        error: `The plan "free" allows ${sentence} Larger plans: ${PRICING}`,
        pricingUrl: PRICING,
      }),
    );
    expect(answer.headers.get('retry-after')).toBeNull();
  }

  test('collections', async () => {
    expect(await tenant.api('POST', '/collections', { name: 'limited', dimensions: 2, shards: 4 })).toMatchObject({
      status: 201,
    });
    await tenant.api('POST', '/collections', { name: 'second', dimensions: 2 });
    const third = () => tenant.api('POST', '/collections', { name: 'third', dimensions: 2 });
    const sentence = '2 collections; 2 are used and this request needs 1 more. Delete some to make room.';
    expectLimit(await third(), sentence);
    expect(await tenant.api('POST', '/collections', { name: 'second', dimensions: 2 })).toMatchObject({ status: 409 });
    await tenant.api('DELETE', '/collections/second');
    expect(await third()).toMatchObject({ status: 201 });
  });

  test('keys', async () => {
    const create = (name: string) => tenant.api<{ key: { id: string } }>('POST', '/keys', { name });
    const second = (await create('second')).body.key;
    await create('third');
    const sentence = '3 API keys; 3 are used and this request needs 1 more. Revoke some to make room.';
    expectLimit(await create('fourth'), sentence);
    await tenant.api('DELETE', `/keys/${second.id}`);
    expect(await create('fourth')).toMatchObject({ status: 201 });
  });

  test('stored vectors: a request over the limit writes nothing; replacing needs no room; deletes free room', async () => {
    expect(await upsert(0, 10)).toMatchObject({ status: 200, body: { vectorCount: 10 } });
    const sentence = '12 stored vectors; 10 are used and this request needs 3 more. Delete some to make room.';
    expectLimit(await upsert(10, 3), sentence);
    expect(await usage()).toMatchObject({ vector_count: 10, write_count: 10 });
    expect(await upsert(9, 3)).toMatchObject({ status: 200, body: { vectorCount: 12 } });
    expect(await upsert(0, 1)).toMatchObject({ status: 200, body: { vectorCount: 12 } });
    expect(await tenant.api('POST', '/collections/limited/delete', { ids: ['r0'] })).toMatchObject({ status: 200 });
    expect(await upsert(50, 1)).toMatchObject({ status: 200, body: { vectorCount: 12 } });
  });

  test('monthly writes: a request over the limit writes nothing; deletes, fetches, queries and verifies still work', async () => {
    expect(await usage()).toMatchObject({ write_count: 15 });
    const refused = `20 writes per month; 15 are used and this request needs 6 more. The count starts again at ${RESETS}.`;
    expectLimit(await upsert(1, 6), refused);
    expect(await usage()).toMatchObject({ write_count: 15 });
    expect(await upsert(1, 5)).toMatchObject({ status: 200, body: { upsertedCount: 5 } });
    const full = `20 writes per month; 20 are used and this request needs 1 more. The count starts again at ${RESETS}.`;
    expectLimit(await upsert(1, 1), full);
    expect(await tenant.api('POST', '/collections/limited/delete', { ids: ['r5'] })).toMatchObject({ status: 200 });
    expect(await tenant.api('POST', '/collections/limited/fetch', { ids: ['r1'] })).toMatchObject({ status: 200 });
    expect(await tenant.api('GET', '/collections/limited/verify')).toMatchObject({ status: 200 });
  });

  test('monthly queries; a failed query does not count', async () => {
    expect(await query()).toMatchObject({ status: 200 });
    expect(await tenant.api('POST', '/collections/limited/query', { id: 'absent' })).toMatchObject({ status: 404 });
    expect(await query()).toMatchObject({ status: 200 });
    expect(await query()).toMatchObject({ status: 200 });
    const sentence = `3 queries per month; 3 are used and this request needs 1 more. The count starts again at ${RESETS}.`;
    expectLimit(await query(), sentence);
    expect(await usage()).toMatchObject({ query_count: 3 });
  });

  describe('what lifts a limit', () => {
    test('the next month, for writes and queries', async () => {
      clock.advance(SECONDS_LEFT * 1_000);
      expect(await query()).toMatchObject({ status: 200 });
      expect(await upsert(1, 1)).toMatchObject({ status: 200 });
      expect(await usage()).toMatchObject({ write_count: 1, query_count: 1 });
    });

    test('a larger plan, at once', async () => {
      expect(await upsert(100, 12)).toMatchObject({ status: 429 });
      await operatorApi(service)('PATCH', `/admin/accounts/${tenant.account.id}`, { plan: 'pro' });
      expect(await upsert(100, 12)).toMatchObject({ status: 200 });
      expect(await tenant.api('POST', '/collections', { name: 'more', dimensions: 2 })).toMatchObject({ status: 201 });
    });

    test('a smaller plan keeps existing data, refuses more, and allows deleting and replacing', async () => {
      await operatorApi(service)('PATCH', `/admin/accounts/${tenant.account.id}`, { plan: 'free' });
      expect(await upsert(200, 1)).toMatchObject({ status: 429, body: { code: 'PLAN_LIMIT_REACHED' } });
      expect(await upsert(100, 1)).toMatchObject({ status: 200 });
      expect(await tenant.api('POST', '/collections/limited/fetch', { ids: ['r111'] })).toMatchObject({
        status: 200,
        body: { vectors: { r111: { id: 'r111' } } },
      });
      expect(await tenant.api('POST', '/collections/limited/delete', { ids: ['r111'] })).toMatchObject({ status: 200 });
    });
  });

  test('the first account, on the enterprise plan, has no limits', async () => {
    for (const name of ['a', 'b', 'c']) {
      expect(await service.api('POST', '/collections', { name, dimensions: 2 })).toMatchObject({ status: 201 });
    }
    const records = numbered(0, 100);
    expect(await service.api('POST', '/collections/a/upsert', { records })).toMatchObject({ status: 200 });
  });
});
