import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { runChaos } from '../chaos-run.ts';

const DOWN_MS = 2_000;

test('Redis is killed and restarted', async () => {
  const result = await runChaos({
    name: `Redis is killed twice and is back after ${DOWN_MS / 1000} s`,
    backing: 'MongoDB + Redis',
    isOwn: true,
    async trouble(cluster) {
      for (const _ of [1, 2]) {
        await cluster.backing.redis!.kill();
        await delay(DOWN_MS);
        await cluster.backing.redis!.restart();
        await delay(8_000);
      }
    },
  });
  expect(result.faults).toEqual([]);
  expect(result.shardAwayMs).toBeLessThan(DOWN_MS + 10_000);
}, 180_000);
