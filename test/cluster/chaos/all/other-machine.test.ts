import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { ownerOf, runChaos } from '../chaos-run.ts';
import { selectedBackings } from '../selection.ts';

/**
 * Simulates another machine by another host name: nodes then never ask the operating system whether
 * the process is alive.
 */
const onMachine = (id: string) => ['unshare', '--uts', 'sh', '-c', `hostname ${id} && exec "$0" "$@"`];

/**
 * The lease must expire, with or without copies: up to 8.5 s after its last renewal was seen. The
 * rest is for opening the shards on a busy machine.
 */
const AWAY_MAX_MS = 10_000;

describe.each(await selectedBackings())('%s', (backing) => {
  test.each([0, 1])(
    'an owner on another machine is killed, with %i replicas',
    async (replicas) => {
      const result = await runChaos({
        name: `an owner on another machine is killed, ${replicas} replicas`,
        backing,
        replicas,
        under: onMachine,
        async trouble(cluster, random, collectionId) {
          const node = cluster.node(await ownerOf(cluster, collectionId, random));
          await node.kill();
          await delay(14_000);
        },
      });
      expect(result.faults).toEqual([]);
      expect(result.shardAwayMs).toBeLessThan(AWAY_MAX_MS);
    },
    180_000,
  );
});
