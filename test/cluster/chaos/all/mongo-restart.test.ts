import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { runChaos } from '../chaos-run.ts';

const DOWN_MS = 3_000;
const STOPPED_MS = 8_000;

test('MongoDB is killed and restarted', async () => {
  const result = await runChaos({
    name: `MongoDB is killed and is back after ${DOWN_MS / 1000} s`,
    backing: 'MongoDB + Redis',
    isOwn: true,
    async trouble(cluster) {
      await cluster.backing.mongo!.kill();
      await delay(DOWN_MS);
      await cluster.backing.mongo!.restart();
      await delay(12_000);
    },
  });
  expect(result.faults).toEqual([]);
  expect(result.shardAwayMs).toBeLessThan(DOWN_MS + 15_000);
}, 180_000);

test('MongoDB freezes for longer than leases last, and continues', async () => {
  const result = await runChaos({
    name: `MongoDB is halted for ${STOPPED_MS / 1000} s and goes on`,
    backing: 'MongoDB + Redis',
    isOwn: true,
    async trouble(cluster) {
      await cluster.backing.mongo!.freeze();
      await delay(STOPPED_MS);
      cluster.backing.mongo!.thaw();
      await delay(12_000);
    },
  });
  expect(result.faults).toEqual([]);
  expect(result.shardAwayMs).toBeLessThan(STOPPED_MS + 15_000);
}, 180_000);
