import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call } from '../../../contracts/actions/call.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { startService, type TestService } from '../../support/service.ts';

const SHARDS = 64;
const RECORDS = 1_000;
const DIMENSIONS = 8;

let service: TestService;
const valuesOf = (i: number) => Array.from({ length: DIMENSIONS }, (_, d) => ((i * 31 + d * (i + 7)) % 101) + 1);
const records = Array.from({ length: RECORDS }, (_, i) => ({ id: `r${i}`, values: valuesOf(i), metadata: { i } }));
const root = referenceRoot(records.map(({ id, values, metadata }) => referenceLeaf(id, values, metadata)));

beforeAll(async () => {
  service = await startService();
  await service.api('POST', '/collections', { name: 'sharded', dimensions: DIMENSIONS, shards: SHARDS });
  await service.api('POST', '/collections', { name: 'whole', dimensions: DIMENSIONS });
});
afterAll(() => service.stop());

test('a write over 64 shards returns the root of its records, as over one shard', async () => {
  for (const name of ['sharded', 'whole']) {
    expect(await service.api('POST', `/collections/${name}/upsert`, { records })).toMatchObject({
      status: 200,
      body: { upsertedCount: RECORDS, vectorCount: RECORDS, merkleRoot: root, anchor: { status: 'confirmed' } },
    });
  }
  expect(await call(service.provec.broker, 'shards.stats', {})).toMatchObject({ open: SHARDS + 1 });
});

test.each([
  ['all', {}],
  ['filtered', { filter: { i: { $gte: 500 } } }],
])('a query over 64 shards answers as over one shard: %s', async (_, options) => {
  for (const i of [0, 17, 999]) {
    const request = { vector: valuesOf(i), topK: 50, ...options };
    const [sharded, whole] = await Promise.all(
      ['sharded', 'whole'].map((name) => service.api('POST', `/collections/${name}/query`, request)),
    );
    expect(sharded.status).toBe(200);
    expect(sharded.body).toEqual(whole.body);
  }
});

test('all come back after a restart, verified', async () => {
  await service.restart();
  expect(await service.api('GET', '/collections/sharded/verify')).toMatchObject({
    status: 200,
    body: { state: 'match', onChainRoot: root, vectorCount: RECORDS },
  });
  const ids = records.map(({ id }) => id);
  expect(await service.api('POST', '/collections/sharded/delete', { ids })).toMatchObject({
    status: 200,
    body: { deletedCount: RECORDS, vectorCount: 0, merkleRoot: '0'.repeat(64) },
  });
});
