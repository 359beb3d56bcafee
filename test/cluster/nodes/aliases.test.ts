import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../../support/api-client.ts';
import { startBacking } from '../../support/backing-services.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { TEST_KEY } from '../../support/tenant.ts';

let cluster: ClusterProcess;
beforeAll(async () => {
  const backing = await startBacking('SQLite + TCP');
  cluster = await ClusterProcess.start(backing, {
    shardNodes: 2,
    gateways: 2,
    controls: 2,
    environment: { PROVEC_LEDGER: 'off' },
  });
  for (const name of ['blue', 'green']) {
    await cluster.api('POST', '/collections', { name, dimensions: 1, metric: 'dot', shards: 2 });
    await cluster.api('POST', `/collections/${name}/upsert`, { records: [{ id: name, values: [1] }] });
  }
});
afterAll(() => cluster?.dispose());

test('after a switch through one gateway, every request that begins at any gateway uses the new collection', async () => {
  const gateways = cluster.gateways.map(({ url }) => apiClient(url!, TEST_KEY));
  for (let round = 0; round < 40; round++) {
    const name = round % 2 === 0 ? 'blue' : 'green';
    const { status } = await gateways[round % 2]('PUT', '/aliases/live', { collection: name });
    expect(status).toBe(round === 0 ? 201 : 200);
    const asked = Array.from({ length: 6 }, (_, at) =>
      gateways[at % 2]<{ matches: { id: string }[] }>('POST', '/collections/live/query', { vector: [1] }),
    );
    for (const { body } of await Promise.all(asked)) expect(body.matches).toMatchObject([{ id: name }]);
  }
  expect((await gateways[0]('DELETE', '/aliases/live')).status).toBe(200);
  for (const gateway of gateways)
    expect((await gateway('POST', '/collections/live/query', { vector: [1] })).status).toBe(404);
});
