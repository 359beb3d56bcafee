import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { runChaos } from '../chaos-run.ts';
import { backings } from '../selection.ts';

/** Until the other nodes know of one that has started, as an orchestrator waits (`minReadySeconds`). */
const SEEN_MS = 5_000;
/** Until a load balancer sends no more to a gateway that it was told to forget (`preStop`): SIGTERM closes the port. */
const FORGOTTEN_MS = 1_000;

describe.each(await backings())('%s', (backing) => {
  test('nodes are stopped and started again one by one, and no request fails', async () => {
    const result = await runChaos({
      name: 'every node is rolled once',
      backing,
      isFlawless: true,
      gateways: 2,
      controls: 2,
      async trouble(cluster) {
        for (const node of [...cluster.shardNodes, ...cluster.controls]) {
          expect(await node.stop()).toEqual({ code: 0, signal: null });
          await node.start();
          await cluster.ready();
          await delay(SEEN_MS);
        }
        for (const gateway of cluster.gateways) {
          // As a load balancer is told before a gateway is.
          cluster.unlist(gateway);
          await delay(FORGOTTEN_MS);
          expect(await gateway.stop()).toEqual({ code: 0, signal: null });
          await gateway.start();
          await delay(SEEN_MS);
          cluster.list(gateway);
        }
      },
    });
    expect(result.faults).toEqual([]);
    expect(result.failures.map(({ kind, failure }) => `${kind}: ${failure}`)).toEqual([]);
    expect(result.shardAwayMs).toBeLessThan(10_000);
  }, 420_000);
});
