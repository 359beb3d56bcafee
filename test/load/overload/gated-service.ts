import type { ServiceBroker } from 'moleculer';
import type { UsageReport } from '../../../contracts/actions/metering.ts';
import type { PlanName } from '../../../lib/plans.ts';
import collections from '../../../services/collections/collections.service.ts';
import gateway from '../../../services/gateway/gateway.service.ts';
import type { OverloadBounds } from '../../../services/gateway/overload/overload.ts';
import keys from '../../../services/keys/keys.service.ts';
import metering from '../../../services/metering/metering.service.ts';
import { ManualClock } from '../../support/accounts.ts';
import { type Api, apiClient } from '../../support/api-client.ts';
import { openTemporaryStore, startWorld } from '../../support/world.ts';
import { ShardsGate } from './gate.ts';

export const ADMIN_TOKEN = 'admin-token-of-the-tests-0123456789';

export interface Tenant {
  accountId: string;
  secret: string;
  api: Api;
  usage(): Promise<UsageReport['usage']>;
}

export interface GatedService {
  url: string;
  port: number;
  gate: ShardsGate;
  clock: ManualClock;
  broker: ServiceBroker;
  /** Creates a tenant with a collection `docs` of `shards` shards. */
  tenant(plan: PlanName, shards?: number): Promise<Tenant>;
  /**
   * The value of a series such as `provec_gateway_waiting_requests{queue="query"}`; 0 when it does
   * not exist yet.
   */
  metric(series: string): Promise<number>;
  stop(): Promise<void>;
}

export const DIMENSIONS = 64;

/**
 * Gateway, collections, keys and metering over a real broker, store and HTTP server, with a gate
 * instead of the shards, on a clock that the test moves.
 */
export async function startGatedService(
  given: OverloadBounds = {},
  environment: Record<string, string> = {},
): Promise<GatedService> {
  const { destroy, store } = await openTemporaryStore();
  // Shares do not depend on how busy the test's process is.
  const shares = { shrinks: false };
  const { query, other, ...queues } = given.queues ?? {};
  const bounds = { ...given, queues: { ...queues, query: { ...shares, ...query }, other: { ...shares, ...other } } };
  const clock = new ManualClock();
  const gate = new ShardsGate(store, clock);
  const { broker, call } = await startWorld({
    environment: {
      PROVEC_PORT: '0',
      PROVEC_LEDGER: 'off',
      PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
      PROVEC_LOG_LEVEL: 'silent',
      ...environment,
    },
    store,
    clock,
    services: [collections, keys, metering, () => gate.schema(), (runtime) => gateway(runtime, { bounds })],
    broker: { tracking: { enabled: true } },
  });
  const { port } = (await broker.call('gateway.listen')) as { port: number };
  const url = `http://127.0.0.1:${port}`;
  let stopping: Promise<void> | null = null;
  return {
    url,
    port,
    gate,
    clock,
    broker,
    async tenant(plan, shards = 1) {
      const { account, key } = await call('keys.createAccount', { name: 'tenant', plan });
      const secret = key.secret!;
      const api = apiClient(url, secret);
      const accountId = account.id;
      await call('collections.create', { accountId, name: 'docs', dimensions: DIMENSIONS, shards });
      const usage = async () => (await call('metering.usage', { accountId })).usage;
      return { accountId, secret, api, usage };
    },
    async metric(series) {
      const text = await (await fetch(`${url}/metrics`)).text();
      const line = text.split('\n').find((each) => each.startsWith(`${series} `));
      return line === undefined ? 0 : Number(line.slice(series.length + 1));
    },
    stop() {
      stopping ??= (async () => {
        await broker.destroyService('gateway');
        await broker.stop();
        await destroy();
      })();
      return stopping;
    },
  };
}
