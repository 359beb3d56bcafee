import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { ownerOf, runChaos } from '../chaos-run.ts';
import { selectedBackings } from '../selection.ts';

/** Longer than a lease. */
const HALTED_MS = 10_000;

describe.each(await selectedBackings())('%s', (backing) => {
  test('an owner freezes for longer than its lease, and continues', async () => {
    const result = await runChaos({
      name: `an owner is halted for ${HALTED_MS / 1000} s and goes on`,
      backing,
      async trouble(cluster, random, collectionId) {
        const node = cluster.node(await ownerOf(cluster, collectionId, random));
        node.halt();
        await delay(HALTED_MS);
        node.resume();
        await delay(3_000);
      },
    });
    expect(result.faults).toEqual([]);
    // Others take over when the lease expires. Halted in a transaction of the shared file, though,
    // the node blocks everyone until it resumes.
    expect(result.shardAwayMs).toBeLessThan(HALTED_MS + 5_000);
  }, 180_000);
});
