import type { ServiceBroker } from 'moleculer';
import { call } from '../../lib/actions/call.ts';
import type { Store } from '../../lib/store/port.ts';
import { within } from '../../lib/time/timers.ts';
import type { Readiness } from './health-pages.ts';

/** Longer than a store that is well takes. */
const STORE_WAIT_MS = 2_000;

interface ReadinessParts {
  broker: ServiceBroker;
  store: Store;
  /** What this process runs. */
  services: readonly string[];
  /** What a gateway needs somewhere in the cluster. */
  needed: readonly string[];
}

/**
 * Whether a process that has started can serve. It must reach its store. A gateway needs every
 * service somewhere; what else a process runs depends on itself alone: shard nodes that waited for
 * others would never be ready after an outage, when nobody is. A ledger out of reach makes nobody
 * unready: writes stand and their anchors wait.
 */
export async function readinessOf({ broker, store, services, needed }: ReadinessParts): Promise<Readiness> {
  const reasons: string[] = [];
  if (!(await isReached(store))) reasons.push('the store cannot be reached');
  if (services.includes('gateway')) {
    const running = new Set(broker.registry.getServiceList({ onlyAvailable: true }).map(({ name }) => name));
    const missing = needed.filter((name) => !running.has(name));
    if (missing.length > 0) reasons.push(`no node runs ${missing.join(', ')}`);
  }
  if (services.includes('shards')) {
    const { reopening, hasLease } = await call(broker, 'shards.stats', {}, { nodeID: broker.nodeID });
    if (reopening > 0) reasons.push(`${reopening} shards are opening`);
    if (!hasLease) reasons.push('this node has no lease');
  }
  return { ready: reasons.length === 0, reasons };
}

function isReached(store: Store): Promise<boolean> {
  const reached = store.reach().then(
    () => true,
    () => false,
  );
  return within(reached, STORE_WAIT_MS, () => false);
}
