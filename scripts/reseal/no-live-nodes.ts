import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../../lib/host/process-identity.ts';
import { DEAD_AFTER_MS } from '../../services/shards/cluster/ownership/lease-terms.ts';
import type { StoreToReseal } from '../../store/resealing.ts';

const LOOK_EVERY_MS = 500;

type Living = Pick<StoreToReseal, 'leases' | 'anchors'>;

/**
 * Thrown while a node is alive: it would keep sealing under its own secret, and what it holds in
 * memory cannot be checked.
 */
export class NodesAlive extends Error {
  override name = 'NotAlone';
}

/**
 * Resolves when the store shows no running node. A node process on this machine is looked up. For
 * any other node the heartbeat must not change for DEAD_AFTER_MS, the time after which nodes
 * consider each other dead, on this process's clock. Throws NotAlone.
 */
export async function assertNoLiveNodes(
  store: Living,
  pause: (ms: number) => Promise<unknown> = delay,
  monotonicMs: () => number = () => performance.now(),
): Promise<void> {
  const first = await beats(store);
  const endMs = monotonicMs() + DEAD_AFTER_MS;
  while (first.size > 0 && monotonicMs() < endMs) {
    await pause(LOOK_EVERY_MS);
    for (const [who, beat] of await beats(store)) {
      if (first.get(who) !== beat)
        throw new NodesAlive(`${who} is at work on the store: stop every process of Provec first.`);
    }
  }
}

/**
 * Heartbeats of all nodes and anchoring instances that may be alive. Throws NotAlone when a node
 * certainly is.
 */
async function beats({ leases, anchors }: Living): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const { node, incarnation, beat, process } of await leases.list()) {
    const alive = await isAlive(process);
    const who = `The node ${node}`;
    if (alive === true) throw new NodesAlive(`${who} is at work on the store: stop every process of Provec first.`);
    if (alive === 'unknown') found.set(`${who} (${incarnation})`, beat);
  }
  for (const { instance, beat } of await anchors.instances()) found.set(`An anchoring service (${instance})`, beat);
  return found;
}
