import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startBacking } from '../../support/backing-services.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { refusal } from '../../support/refusal.ts';

let cluster: ClusterProcess;
beforeAll(async () => {
  const backing = await startBacking('SQLite + TCP');
  cluster = await ClusterProcess.start(backing, { shardNodes: 2, environment: { PROVEC_LEDGER: 'off' } });
  await cluster.api('POST', '/collections', { name: 'docs', dimensions: 2, shards: 4 });
  const records = Array.from({ length: 20 }, (_, at) => ({
    id: `r${at}`,
    values: [at, 1],
    metadata: { group: at % 2 },
  }));
  await cluster.api('POST', '/collections/docs/upsert', { records });
});
afterAll(() => cluster?.dispose());

const update = (body: object) => cluster.api('POST', '/collections/docs/update', body);

test('updates by id and by filter reach collections of another process', async () => {
  const updates = [
    { id: 'r1', values: [7, 7], setMetadata: { a: 1 }, unsetMetadata: ['group'] },
    { id: 'absent', setMetadata: { a: 1 } },
  ];
  expect(await update({ updates })).toMatchObject({ status: 200, body: { matchedCount: 1, updatedCount: 1 } });
  expect(await update({ filter: { group: 0 }, setMetadata: { b: 2 } })).toMatchObject({
    status: 200,
    body: { matchedCount: 10, updatedCount: 10 },
  });
  const { body } = await cluster.api<{ vectors: object }>('POST', '/collections/docs/fetch', { ids: ['r1', 'r2'] });
  expect(body.vectors).toMatchObject({
    r1: { values: [7, 7], metadata: { a: 1 } },
    r2: { metadata: { group: 0, b: 2 } },
  });
  expect(await update({ updates: [{ id: 'r1', values: [1] }] })).toEqual(
    refusal(400, 'DIMENSION_MISMATCH', { details: expect.any(Array) }),
  );
});
