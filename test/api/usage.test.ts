import { beforeAll, expect, test } from '@jest/globals';
import type { UsageReport } from '../../contracts/actions/metering.ts';
import type { Api } from '../support/api-client.ts';
import { refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

const usage = async (api: Api) => (await api<UsageReport>('GET', '/usage')).body;

test.each(['free', 'enterprise'])('counts what was done, and nothing refused or free (%s)', async (plan) => {
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
  await api('POST', '/collections/counted/facets', { field: 'any' });
  const afterQueries = { ...afterUpsert, write_count: 12, query_count: 4 };
  expect(await counts()).toEqual(afterQueries);

  for (const [method, path, body] of [
    ['POST', '/collections/counted/upsert', { records: [...records, { id: 'bad', values: [1] }] }],
    ['POST', '/collections/counted/query', { vector: [1] }],
    ['POST', '/collections/counted/query', { id: 'absent' }],
    ['POST', '/collections/never/query', { vector: [1, 2] }],
    ['POST', '/collections/counted/facets', {}],
    ['POST', '/collections/never/facets', { field: 'any' }],
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
});

test('accepts no parameter', async () => {
  expect(await service.api('GET', '/usage?month=2026-10')).toEqual(refusalOf('month'));
});
