import { beforeAll, describe, expect, test } from '@jest/globals';
import type { CollectionView } from '../../contracts/actions/collections.ts';
import type { UsageReport } from '../../contracts/actions/metering.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
});

const records = Array.from({ length: 40 }, (_, at) => ({ id: `r${at}`, values: [1, at], metadata: { at } }));

describe.each([1, 8])('a collection of %i shards', (shards) => {
  const path = `/collections/gone-${shards}`;
  const create = (dimensions: number) =>
    service.api<{ collection: CollectionView }>('POST', '/collections', {
      name: `gone-${shards}`,
      dimensions,
      shards,
    });
  let first: CollectionView;

  beforeAll(async () => {
    first = (await create(2)).body.collection;
    await service.api('POST', `${path}/upsert`, { records });
  });

  test('every operation reports a deleted collection as absent', async () => {
    expect(await service.api('DELETE', path)).toMatchObject({ status: 200, body: { deleted: true } });
    for (const [method, below, body] of [
      ['GET', ''],
      ['DELETE', ''],
      ['PATCH', '', { deletionProtection: true }],
      ['POST', '/upsert', { records }],
      ['POST', '/query', { vector: [1, 2] }],
      ['POST', '/fetch', { ids: ['r1'] }],
      ['POST', '/delete', { ids: ['r1'] }],
      ['GET', '/verify'],
      ['POST', '/verifications'],
      ['GET', '/verifications/some-id'],
      ['GET', '/proof?id=r1'],
      ['GET', '/anchors'],
    ] as const) {
      expect(await service.api(method, path + below, body)).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
    }
    const { body } = await service.api<{ collections: CollectionView[] }>('GET', '/collections');
    expect(body.collections.map(({ name }) => name)).not.toContain(first.name);
  });

  test('a new collection with that name has another id and is empty', async () => {
    const { body } = await create(3);
    expect(body.collection.id).not.toBe(first.id);
    expect(body.collection).toMatchObject({ dimensions: 3, vector_count: 0 });
    expect((await service.api('GET', path)).body).toMatchObject({
      collection: { merkleRoot: '0'.repeat(64), version: 0, anchor: { status: 'none', ledgerTx: null } },
    });
    const ids = records.map(({ id }) => id);
    expect((await service.api('POST', `${path}/fetch`, { ids })).body).toEqual({ vectors: {} });
    expect((await service.api('POST', `${path}/query`, { vector: [1, 2, 3] })).body).toEqual({ matches: [] });
    expect((await service.api('GET', `${path}/anchors`)).body).toEqual({ anchors: [], dropped: 0, nextCursor: null });
  });
});

test('returns 404 for an unknown collection', async () => {
  expect(await service.api('DELETE', '/collections/never')).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
});

test('a protected collection returns 403 and is unchanged', async () => {
  await service.api('POST', '/collections', { name: 'kept', dimensions: 2, deletionProtection: true });
  await service.api('POST', '/collections/kept/upsert', { records });
  expect(await service.api('DELETE', '/collections/kept')).toEqual(refusal(403, 'FORBIDDEN'));
  const fetched = await service.api('POST', '/collections/kept/fetch', { ids: ['r7'] });
  expect(fetched.body).toEqual({ vectors: { r7: records[7] } });
});

describe('the quota', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(service, 'free');
  });
  const usage = async () => (await tenant.api<UsageReport>('GET', '/usage')).body.usage;

  test("gets back collections and stored vectors, but not the month's writes", async () => {
    for (const name of ['one', 'two']) await tenant.api('POST', '/collections', { name, dimensions: 2 });
    await tenant.api('POST', '/collections/one/upsert', { records });
    expect(await usage()).toMatchObject({ collection_count: 2, vector_count: 40, write_count: 40 });
    expect(await tenant.api('POST', '/collections', { name: 'three', dimensions: 2 })).toMatchObject({ status: 429 });
    expect(await tenant.api('DELETE', '/collections/one')).toMatchObject({ status: 200 });
    expect(await usage()).toMatchObject({ collection_count: 1, vector_count: 0, write_count: 40 });
    expect(await tenant.api('POST', '/collections', { name: 'three', dimensions: 2 })).toMatchObject({ status: 201 });
  });

  test("another account's collection with that name is unchanged", async () => {
    await service.api('POST', '/collections', { name: 'two', dimensions: 2 });
    await service.api('POST', '/collections/two/upsert', { records });
    expect(await tenant.api('DELETE', '/collections/two')).toMatchObject({ status: 200 });
    expect((await service.api('GET', '/collections/two')).body).toMatchObject({ collection: { vector_count: 40 } });
    expect((await service.api('GET', '/collections/two/verify')).body).toMatchObject({ state: 'match' });
  });
});
