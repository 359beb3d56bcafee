import type { ServiceBroker } from 'moleculer';
import type { Logger } from 'pino';
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
  log: Logger;
}

/**
 * Determines whether a started process can handle requests. It must reach its store, and a gateway
 * needs every service on some node. Nothing else depends on other processes: if shard nodes waited
 * for others, none would become ready after an outage. The ledger does not matter, because writes
 * succeed without it and their anchors wait.
 */
export class ReadinessCheck {
  readonly #parts: ReadinessParts;
  /** Faults in the newest line of the log. */
  #logged = '';

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /** Logs the faults when they have changed since the last check. */
  async run(): Promise<Readiness> {
    const { faults, opening } = await this.#look().catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, 'the readiness check failed');
      return { faults: ['the readiness check failed'], opening: [] };
    });
    this.#log(faults);
    const reasons = [...faults, ...opening];
    return { status: faults.length > 0 ? 'unavailable' : opening.length > 0 ? 'starting' : 'ready', reasons };
  }

  /** Returns what keeps the process from serving, and what its start still waits for. */
  async #look(): Promise<{ faults: string[]; opening: string[] }> {
    const { broker, needed, services, store } = this.#parts;
    const faults: string[] = [];
    const opening: string[] = [];
    const refusal = await refusalOf(store);
    if (refusal !== null) faults.push(refusal);
    if (services.includes('gateway')) {
      const running = new Set(broker.registry.getServiceList({ onlyAvailable: true }).map(({ name }) => name));
      const missing = needed.filter((name) => !running.has(name));
      if (missing.length > 0) faults.push(`no node runs ${missing.join(', ')}`);
    }
    if (services.includes('shards')) {
      const { reopening, hasLease } = await call(broker, 'shards.stats', {}, { nodeID: broker.nodeID });
      if (reopening > 0) opening.push(`${reopening} shards are opening`);
      if (!hasLease) faults.push('this node has no lease');
    }
    return { faults, opening };
  }

  #log(faults: string[]): void {
    const now = faults.join('; ');
    if (now === this.#logged) return;
    this.#logged = now;
    if (now === '') this.#parts.log.info('this process can serve requests again');
    else this.#parts.log.warn({ reasons: faults }, 'this process cannot serve requests');
  }
}

/** Returns why the store cannot be used, null if it can. */
function refusalOf(store: Store): Promise<string | null> {
  const refusal = store.reach().then(
    () => null,
    (error: unknown) => (error instanceof StoreError && error.kind === 'changed' ? error.message : UNREACHABLE),
  );
  return withTimeLimit(refusal, STORE_WAIT_MS, () => UNREACHABLE);
}
