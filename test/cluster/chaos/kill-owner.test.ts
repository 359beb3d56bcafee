import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { isThorough } from '../../support/effort.ts';
import { ownerOf, runChaos } from './chaos-run.ts';
import { selectedBackings } from './selection.ts';

const KILL_EVERY_MS = 5_000;
const KILLS = isThorough ? 4 : 2;

describe.each(await selectedBackings())('%s', (backing) => {
  test('an owner is killed every five seconds', async () => {
    const result = await runChaos({
      name: `an owner is killed every ${KILL_EVERY_MS / 1000} s`,
      backing,
      async trouble(cluster, random, collectionId) {
        for (let kill = 0; kill < KILLS; kill++) {
          const node = cluster.node(await ownerOf(cluster, collectionId, random));
          await node.kill();
          await Promise.all([delay(KILL_EVERY_MS), node.start()]);
        }
      },
    });
    expect(result.faults).toEqual([]);
    expect(result.shardAwayMs).toBeLessThan(10_000);
  }, 180_000);
});
