import { beforeAll, expect, test } from '@jest/globals';
import type { CollectionMemory } from '../../contracts/actions/collections.ts';
import { apiClient } from '../support/api-client.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const DIMENSIONS = 512;

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

const memory = (name: string, search = '') =>
  service.api<CollectionMemory>('GET', `/collections/${name}/memory${search}`);

async function create(name: string, shards: number): Promise<void> {
  expect((await service.api('POST', '/collections', { name, dimensions: DIMENSIONS, shards })).status).toBe(201);
}

test('says what each part of an open shard takes, and the parts sum up', async () => {
  await create('filled', 2);
  const values = Array.from({ length: DIMENSIONS }, (_, at) => at + 1);
  const records = Array.from({ length: 200 }, (_, at) => ({
    id: `r${at}`,
    values,
    metadata: { text: 'x'.repeat(1_000) },
  }));
  await service.api('POST', '/collections/filled/upsert', { records });
  const { status, body } = await memory('filled');
  expect(status).toBe(200);
  expect(body.shards.map(({ shard, state }) => [shard, state])).toEqual([
    [0, 'open'],
    [1, 'open'],
  ]);
  let [vectors, texts, count] = [0, 0, 0];
  for (const { bytes, parts, records: held, logBytes } of body.shards) {
    expect(bytes).toBe(Object.values(parts!).reduce((sum, part) => sum + part, 0));
    expect(Math.min(...Object.values(parts!))).toBeGreaterThanOrEqual(0);
    expect(logBytes).toBeGreaterThan(0);
    vectors += parts!.vectors;
    texts += parts!.records;
    count += held!;
  }
  expect(count).toBe(200);
  expect(vectors).toBeGreaterThanOrEqual(200 * DIMENSIONS * 4);
  expect(texts).toBeGreaterThanOrEqual(200 * 1_000);
  expect(body.bytes).toBe(body.shards.reduce((sum, { bytes }) => sum + bytes!, 0));
});

test('a closed shard says so and stays closed', async () => {
  await create('unused', 4);
  for (let turn = 0; turn < 2; turn++) {
    const { status, body } = await memory('unused');
    const nothing = { bytes: null, records: null, unindexed: null, logBytes: null, checkpointBytes: 0 };
    const shards = [0, 1, 2, 3].map((shard) => ({ shard, state: 'closed', ...nothing }));
    expect({ status, body }).toEqual({ status: 200, body: { bytes: 0, shards } });
  }
});

test('needs the scope read and a collection of the account', async () => {
  await create('own', 1);
  const { body } = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'w', scopes: ['write'] });
  expect(await apiClient(service, body.key.secret)('GET', '/collections/own/memory')).toEqual(
    refusal(403, 'FORBIDDEN'),
  );
  expect(await memory('never')).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
  expect(await memory('own', '?shard=0')).toEqual(refusalOf('shard'));
});
