import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { ownerOf, runChaos } from '../chaos-run.ts';
import { selectedBackings } from '../selection.ts';

const KILLS = 3;

describe.each(await selectedBackings())('%s', (backing) => {
  test('owners of a collection with a replica are killed', async () => {
    const result = await runChaos({
      name: 'an owner is killed every 5 s, one replica',
      backing,
      replicas: 1,
      async trouble(cluster, random, collectionId) {
        for (let kill = 0; kill < KILLS; kill++) {
          const node = cluster.node(await ownerOf(cluster, collectionId, random));
          await node.kill();
          await Promise.all([delay(5_000), node.start()]);
        }
      },
    });
    expect(result.faults).toEqual([]);
    expect(result.shardAwayMs).toBeLessThan(4_000);
  }, 180_000);
});
