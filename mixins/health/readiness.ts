import type { ServiceBroker } from 'moleculer';
import { call } from '../../contracts/actions/call.ts';
import { withTimeLimit } from '../../lib/time/timers.ts';
import { type Store, StoreError } from '../../store/port.ts';
import type { Readiness } from './health-pages.ts';

/** Longer than a healthy store takes. */
const STORE_WAIT_MS = 2_000;
const UNREACHABLE = 'the store cannot be reached';

interface ReadinessParts {
  broker: ServiceBroker;
  store: Store;
  /** Services that this process runs. */
  services: readonly string[];
  /** Services that a gateway needs anywhere in the cluster. */
  needed: readonly string[];
}

/**
 * Determines whether a started process can handle requests. It must reach its store, and a gateway
 * needs every service on some node. Nothing else depends on other processes: if shard nodes waited
 * for others, none would become ready after an outage. The ledger does not matter, because writes
 * succeed without it and their anchors wait.
 */
export async function readinessOf({ broker, store, services, needed }: ReadinessParts): Promise<Readiness> {
  const reasons: string[] = [];
  const refusal = await refusalOf(store);
  if (refusal !== null) reasons.push(refusal);
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

/** Returns why the store cannot be used, null if it can. */
function refusalOf(store: Store): Promise<string | null> {
  const refusal = store.reach().then(
    () => null,
    (error: unknown) => (error instanceof StoreError && error.kind === 'changed' ? error.message : UNREACHABLE),
  );
  return withTimeLimit(refusal, STORE_WAIT_MS, () => UNREACHABLE);
}
