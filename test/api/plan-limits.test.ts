import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { UsageReport } from '../../lib/actions/metering.ts';
import { HandClock } from '../support/accounts.ts';
import type { Answer } from '../support/api-client.ts';
import { refusal } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { ADMIN_TOKEN, createTenant, operatorApi, type Tenant } from '../support/tenant.ts';

const PRICING = 'https://pricing.example/plans';
const RESETS = '2026-12-01T00:00:00.000Z';
/** Of the clock's instant to the end of its month. */
const SECONDS_LEFT = 1_000;
const clock = new HandClock('2026-11-30T23:43:20.000Z');
const plans = { free: { writes: 20, vectors: 12, queries: 3, collections: 2, keys: 3 } };

let service: TestService;
let tenant: Tenant;
beforeAll(async () => {
  const environment = {
    PROVEC_LEDGER: 'off',
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
    PROVEC_PLANS: JSON.stringify(plans),
    PROVEC_PRICING_URL: PRICING,
  };
  service = await startService(environment, { clock });
  tenant = await createTenant(service, 'free');
});
afterAll(() => service.stop());

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `r${from + at}`, values: [1, from + at] }));
const upsert = (from: number, count: number) =>
  tenant.api('POST', '/collections/limited/upsert', { records: numbered(from, count) });
const query = () => tenant.api('POST', '/collections/limited/query', { vector: [1, 2] });
const usage = async () => (await tenant.api<UsageReport>('GET', '/usage')).body.usage;

/** The whole 429, whose sentence says the limit, what is used, what was asked for, and where larger plans are. */
function expectLimit(answer: Answer<unknown>, sentence: string, isMonthly: boolean): void {
  const retry = isMonthly ? { retryAfterSeconds: SECONDS_LEFT } : {};
  expect(answer).toEqual(
    refusal(429, 'PLAN_LIMIT_REACHED', {
      error: `The plan "free" allows ${sentence} Larger plans: ${PRICING}`,
      pricingUrl: PRICING,
      ...retry,
    }),
  );
  expect(answer.headers.get('retry-after')).toBe(isMonthly ? String(SECONDS_LEFT) : null);
}

test('collections', async () => {
  expect(await tenant.api('POST', '/collections', { name: 'limited', dimensions: 2, shards: 4 })).toMatchObject({
    status: 201,
  });
  await tenant.api('POST', '/collections', { name: 'second', dimensions: 2 });
  const third = () => tenant.api('POST', '/collections', { name: 'third', dimensions: 2 });
  const sentence = '2 collections; 2 are used and this request needs 1 more. Delete some to make room.';
  expectLimit(await third(), sentence, false);
  expect(await tenant.api('POST', '/collections', { name: 'second', dimensions: 2 })).toMatchObject({ status: 409 });
  await tenant.api('DELETE', '/collections/second');
  expect(await third()).toMatchObject({ status: 201 });
});

test('keys', async () => {
  const create = (name: string) => tenant.api<{ key: { id: string } }>('POST', '/keys', { name });
  const second = (await create('second')).body.key;
  await create('third');
  const sentence = '3 API keys; 3 are used and this request needs 1 more. Delete some to make room.';
  expectLimit(await create('fourth'), sentence, false);
  await tenant.api('DELETE', `/keys/${second.id}`);
  expect(await create('fourth')).toMatchObject({ status: 201 });
});

test('stored vectors: refused whole; records that are replaced need no room; deletes make room', async () => {
  expect(await upsert(0, 10)).toMatchObject({ status: 200, body: { vectorCount: 10 } });
  const sentence = '12 stored vectors; 10 are used and this request needs 3 more. Delete some to make room.';
  expectLimit(await upsert(10, 3), sentence, false);
  expect(await usage()).toMatchObject({ vector_count: 10, write_count: 10 });
  expect(await upsert(9, 3)).toMatchObject({ status: 200, body: { vectorCount: 12 } });
  expect(await upsert(0, 1)).toMatchObject({ status: 200, body: { vectorCount: 12 } });
  expect(await tenant.api('POST', '/collections/limited/delete', { ids: ['r0'] })).toMatchObject({ status: 200 });
  expect(await upsert(50, 1)).toMatchObject({ status: 200, body: { vectorCount: 12 } });
});

test('writes of the month: refused whole, and deletes, fetch, query and verify go on', async () => {
  expect(await usage()).toMatchObject({ write_count: 15 });
  const refused = `20 writes per month; 15 are used and this request needs 6 more. The count starts again at ${RESETS}.`;
  expectLimit(await upsert(1, 6), refused, true);
  expect(await usage()).toMatchObject({ write_count: 15 });
  expect(await upsert(1, 5)).toMatchObject({ status: 200, body: { upsertedCount: 5 } });
  const full = `20 writes per month; 20 are used and this request needs 1 more. The count starts again at ${RESETS}.`;
  expectLimit(await upsert(1, 1), full, true);
  expect(await tenant.api('POST', '/collections/limited/delete', { ids: ['r5'] })).toMatchObject({ status: 200 });
  expect(await tenant.api('POST', '/collections/limited/fetch', { ids: ['r1'] })).toMatchObject({ status: 200 });
  expect(await tenant.api('GET', '/collections/limited/verify')).toMatchObject({ status: 200 });
});

test('queries of the month; one that fails costs nothing', async () => {
  expect(await query()).toMatchObject({ status: 200 });
  expect(await tenant.api('POST', '/collections/limited/query', { id: 'absent' })).toMatchObject({ status: 404 });
  expect(await query()).toMatchObject({ status: 200 });
  expect(await query()).toMatchObject({ status: 200 });
  const sentence = `3 queries per month; 3 are used and this request needs 1 more. The count starts again at ${RESETS}.`;
  expectLimit(await query(), sentence, true);
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

  test('and a smaller one keeps what is there, refuses more, and lets it be deleted and replaced', async () => {
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

test('the first account, on the plan enterprise, has none of them', async () => {
  for (const name of ['a', 'b', 'c']) {
    expect(await service.api('POST', '/collections', { name, dimensions: 2 })).toMatchObject({ status: 201 });
  }
  const records = numbered(0, 100);
  expect(await service.api('POST', '/collections/a/upsert', { records })).toMatchObject({ status: 200 });
});
