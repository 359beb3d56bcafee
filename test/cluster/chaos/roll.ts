import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterProcess } from '../../support/cluster-process.ts';

/** Time until the other nodes know a started node, like an orchestrator's `minReadySeconds`. */
const SEEN_MS = 5_000;
/**
 * Time until a load balancer has stopped sending to a removed gateway (`preStop`): SIGTERM closes
 * the port.
 */
const FORGOTTEN_MS = 1_000;

/**
 * Restarts every node once, one after another, with `changed` in its environment. Throws when a
 * node does not exit cleanly.
 */
export async function roll(cluster: ClusterProcess, changed: Record<string, string> = {}): Promise<void> {
  for (const node of [...cluster.shardNodes, ...cluster.controls]) {
    await restart(node, changed);
    await cluster.ready();
    await delay(SEEN_MS);
  }
  for (const gateway of cluster.gateways) {
    // A load balancer removes a gateway before it stops.
    cluster.unlist(gateway);
    await delay(FORGOTTEN_MS);
    await restart(gateway, changed);
    await delay(SEEN_MS);
    cluster.list(gateway);
  }
}

async function restart(node: ClusterProcess['gateways'][number], changed: Record<string, string>): Promise<void> {
  const { code, signal } = await node.stop();
  if (code !== 0) throw new Error(`${node.id} ended with ${signal ?? code}.`);
  await node.start(changed);
}
