import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { UsageReport } from '../../lib/actions/metering.ts';
import { HandClock } from '../support/accounts.ts';
import type { Api } from '../support/api-client.ts';
import { refusalOf } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { ADMIN_TOKEN, createTenant } from '../support/tenant.ts';

const clock = new HandClock('2026-11-30T23:59:00.000Z');

let service: TestService;
beforeAll(async () => {
  const environment = {
    PROVEC_LEDGER: 'off',
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
    PROVEC_PRICING_URL: 'https://a.example/p',
  };
  service = await startService(environment, { clock });
});
afterAll(() => service.stop());

const usage = async (api: Api) => (await api<UsageReport>('GET', '/usage')).body;

test.each([
  ['free', [1_000, 10_000, 5_000, 2, 2]],
  ['pro', [50_000, 500_000, 500_000, 25, 5]],
  ['business', [500_000, 5_000_000, 5_000_000, null, null]],
  ['enterprise', [null, null, null, null, null]],
])('the plan %s and its limits', async (plan, [writes, queries, vectors, collections, keys]) => {
  const { api } = await createTenant(service, plan);
  expect(await usage(api)).toEqual({
    month: '2026-11',
    plan,
    usage: { write_count: 0, query_count: 0, vector_count: 0, collection_count: 0, key_count: 1 },
    limits: {
      write_count: writes,
      query_count: queries,
      vector_count: vectors,
      collection_count: collections,
      key_count: keys,
    },
    resets_at: '2026-12-01T00:00:00.000Z',
    pricing_url: 'https://a.example/p',
  });
});

test.each(['free', 'enterprise'])(
  'counts what was done, and nothing that was refused or is free (%s)',
  async (plan) => {
    const { api } = await createTenant(service, plan);
    const records = Array.from({ length: 10 }, (_, at) => ({ id: `r${at}`, values: [1, at] }));
    const counts = async () => (await usage(api)).usage;
    await api('POST', '/collections', { name: 'counted', dimensions: 2, shards: 4 });
    await api('POST', '/collections/counted/upsert', { records });
    const afterUpsert = { write_count: 10, query_count: 0, vector_count: 10, collection_count: 1, key_count: 1 };
    expect(await counts()).toEqual(afterUpsert);

    await api('POST', '/collections/counted/upsert', { records: [records[0], records[1], records[0]] });
    expect(await counts()).toEqual({ ...afterUpsert, write_count: 12 });

    for (const query of [{ vector: [1, 2] }, { id: 'r1' }, { vector: [1, 2], filter: { none: 1 } }]) {
      await api('POST', '/collections/counted/query', query);
    }
    const afterQueries = { ...afterUpsert, write_count: 12, query_count: 3 };
    expect(await counts()).toEqual(afterQueries);

    for (const [method, path, body] of [
      ['POST', '/collections/counted/upsert', { records: [...records, { id: 'bad', values: [1] }] }],
      ['POST', '/collections/counted/query', { vector: [1] }],
      ['POST', '/collections/counted/query', { id: 'absent' }],
      ['POST', '/collections/never/query', { vector: [1, 2] }],
      ['POST', '/collections/counted/fetch', { ids: ['r1'] }],
      ['GET', '/collections/counted/verify'],
      ['GET', '/collections/counted/proof?id=r1'],
      ['GET', '/collections/counted'],
      ['GET', '/collections'],
      ['GET', '/collections/counted/anchors'],
      ['GET', '/keys'],
    ] as const) {
      await api(method, path, body);
    }
    expect(await counts()).toEqual(afterQueries);

    await api('POST', '/collections/counted/delete', { ids: ['r1', 'r2', 'absent'] });
    expect(await counts()).toEqual({ ...afterQueries, vector_count: 8 });
    const { key } = (await api<{ key: { id: string } }>('POST', '/keys', { name: 'second' })).body;
    expect(await counts()).toEqual({ ...afterQueries, vector_count: 8, key_count: 2 });
    await api('DELETE', `/keys/${key.id}`);
    await api('DELETE', '/collections/counted');
    expect(await counts()).toEqual({ ...afterQueries, vector_count: 0, collection_count: 0 });
  },
);

test('a new month begins at midnight UTC: writes and queries at zero, what is stored stays', async () => {
  const { api } = await createTenant(service, 'pro');
  await api('POST', '/collections', { name: 'monthly', dimensions: 1 });
  await api('POST', '/collections/monthly/upsert', { records: [{ id: 'a', values: [1] }] });
  await api('POST', '/collections/monthly/query', { vector: [1] });
  clock.advance(59_999);
  expect(await usage(api)).toMatchObject({ month: '2026-11', usage: { write_count: 1, query_count: 1 } });
  clock.advance(1);
  expect(await usage(api)).toMatchObject({
    month: '2026-12',
    usage: { write_count: 0, query_count: 0, vector_count: 1, collection_count: 1, key_count: 1 },
    resets_at: '2027-01-01T00:00:00.000Z',
  });
});

test('is there after a restart', async () => {
  const before = await usage(service.api);
  await service.api('POST', '/collections', { name: 'kept', dimensions: 1 });
  await service.api('POST', '/collections/kept/upsert', { records: [{ id: 'a', values: [1] }] });
  for (let at = 0; at < 3; at++) await service.api('POST', '/collections/kept/query', { vector: [1] });
  await service.restart();
  expect((await usage(service.api)).usage).toEqual({
    ...before.usage,
    write_count: before.usage.write_count + 1,
    query_count: before.usage.query_count + 3,
    vector_count: before.usage.vector_count + 1,
    collection_count: before.usage.collection_count + 1,
  });
});

test('takes no parameter', async () => {
  expect(await service.api('GET', '/usage?month=2026-10')).toEqual(refusalOf('month'));
});
