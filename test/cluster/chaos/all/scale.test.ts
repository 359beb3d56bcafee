import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { runChaos } from '../chaos-run.ts';
import { selectedBackings } from '../selection.ts';

describe.each(await selectedBackings())('%s', (backing) => {
  test('three shard nodes become five, then two, and no request fails', async () => {
    const result = await runChaos({
      name: 'scale 3 -> 5 -> 2',
      backing,
      isFlawless: true,
      async trouble(cluster, _random, collectionId) {
        await cluster.addShardNode();
        await cluster.addShardNode();
        await cluster.ready();
        await delay(5_000);
        for (const node of cluster.shardNodes.slice(0, 3)) await cluster.removeShardNode(node);
        const left = cluster.shardNodes.map(({ id }) => id);
        expect([...(await cluster.holdings(collectionId)).keys()].filter((id) => !left.includes(id))).toEqual([]);
        await delay(2_000);
      },
    });
    expect(result.faults).toEqual([]);
    expect(result.failures.map(({ kind, failure }) => `${kind}: ${failure}`)).toEqual([]);
    expect(result.shardAwayMs).toBeLessThan(10_000);
  }, 240_000);
});
