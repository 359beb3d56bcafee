import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterProcess } from '../../support/cluster-process.ts';

/**
 * Until the other nodes know of one that has started, as an orchestrator waits (`minReadySeconds`).
 */
const SEEN_MS = 5_000;
/**
 * Until a load balancer sends no more to a gateway that it was told to forget (`preStop`): SIGTERM
 * closes the port.
 */
const FORGOTTEN_MS = 1_000;

/**
 * Stops and starts every node once, one after the other, with `changed` in its environment. Throws
 * where one does not end in order.
 */
export async function roll(cluster: ClusterProcess, changed: Record<string, string> = {}): Promise<void> {
  for (const node of [...cluster.shardNodes, ...cluster.controls]) {
    await restart(node, changed);
    await cluster.ready();
    await delay(SEEN_MS);
  }
  for (const gateway of cluster.gateways) {
    // As a load balancer is told before a gateway is.
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
