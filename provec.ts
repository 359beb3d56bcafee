/**
 * The composition root: one Provec process from its configuration.
 *
 * Order of the start: the health port, this process's place in the data directory, store, embedded
 * ledger, services, first key; the gateway listens last. What was started is stopped in the reverse
 * order when a later step fails, so that a refused start leaves nothing behind. Services stop from
 * the edge inwards: when one stops, nobody calls it any more.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type ServiceBroker as Broker, ServiceBroker, type ServiceSchema } from 'moleculer';
import type { Logger } from 'pino';
import type { LedgerInfo } from './lib/actions/anchoring.ts';
import { call } from './lib/actions/call.ts';
import type { Config } from './lib/config.ts';
import { STOP_MAX_MS } from './lib/limits.ts';
import { sayingWhatIsInTheWay } from './lib/process/data-dir.ts';
import { makeLogger } from './lib/process/logger.ts';
import { checkpointsIn, isShared, takeHome } from './lib/process/node-home.ts';
import { refuseLinks } from './lib/process/own-files.ts';
import { SERVICE_NAMES, type ServiceName } from './lib/process/service-names.ts';
import { type Clock, type Runtime, SYSTEM_CLOCK } from './lib/runtime.ts';
import { type StoreKeys, storeKeys, transportKeys } from './lib/secret/keyring.ts';
import { openSecrets } from './lib/secret/secret-file.ts';
import type { Store } from './lib/store/port.ts';
import { isStoreMade, openSqliteStore } from './lib/store/sqlite/store.ts';
import { livezPage, metricsPage, type Readiness, readyzPage } from './mixins/health/health-pages.ts';
import { HealthServer } from './mixins/health/health-server.ts';
import { readinessOf } from './mixins/health/readiness.ts';
import { Metrics } from './mixins/metrics.ts';
import { ServiceGauges } from './mixins/metrics-gauges.ts';
import { retriedCalls } from './mixins/retried-calls.ts';
import { ShardCalls } from './mixins/shard-router/shard-calls.ts';
import { shardNodeMetadata } from './mixins/shard-router/shard-nodes.ts';
import { brokerOptions } from './moleculer.config.ts';
import anchoring from './services/anchoring/anchoring.service.ts';
import cluster from './services/cluster/cluster.service.ts';
import collections from './services/collections/collections.service.ts';
import { type DevLedger, startDevLedger } from './services/devledger/process.ts';
import gateway from './services/gateway/gateway.service.ts';
import type { HttpTimeouts } from './services/gateway/http-server.ts';
import { forgetFirstKey, makeFirstKey } from './services/keys/first-key.ts';
import keys from './services/keys/keys.service.ts';
import metering from './services/metering/metering.service.ts';
import shards from './services/shards/shards.service.ts';
import verification from './services/verification/verification.service.ts';

/** How long it may take until every node has heard that another one serves nothing any more. */
const LEAVE_MS = 2_000;
/**
 * Of the time for a stop, what is kept for what comes after the shards: that, and closing the
 * connections.
 */
const AFTER_SHARDS_MS = LEAVE_MS + 2_000;

/** Requests of clients need all but what operators use. */
const NEEDED_BY_GATEWAYS = SERVICE_NAMES.filter((name) => name !== 'cluster');

export interface Overrides {
  clock?: Clock;
  log?: Logger;
  /** Default: all. */
  services?: readonly ServiceName[];
  /** Default: those of `INTERNAL_LIMITS`. */
  httpTimeouts?: HttpTimeouts;
  /** Bound on the pages of each file of the embedded store, as a small disk has it; for tests. */
  storeMaxPages?: number;
}

/** A running Provec process. */
export interface Provec {
  /**
   * Where the gateway listens, without the API's base path; null when this process has no gateway.
   */
  readonly url: string | null;
  /** Where `/livez`, `/readyz` and `/metrics` are without a gateway; null without a health port. */
  readonly healthUrl: string | null;
  /** The first API key, on the first start with an empty store only. */
  readonly bootstrapSecret: string | null;
  readonly devLedger: DevLedger | null;
  /** Null where anchoring runs elsewhere. */
  readonly ledger: LedgerInfo | null;
  readonly broker: Broker;
  readonly store: Store;
  /**
   * Ends requests in flight, then everything else; `forMs` is what there is of time for it.
   * Idempotent; never rejects.
   */
  stop(forMs?: number): Promise<void>;
  /** What a stop waits for: the part that is to end, and each shard with what that waits for. */
  waiting(): string[];
}

/** What was started, by name, and how it stops. */
type StartedPart = readonly [name: string, stop: () => Promise<unknown>];

/**
 * Starts Provec. Throws DataDirError, StoreError, or an error whose message is a sentence for the
 * operator.
 */
export async function startProvec(config: Config, overrides: Overrides = {}): Promise<Provec> {
  const { clock = SYSTEM_CLOCK, log = makeLogger(config), services = SERVICE_NAMES } = overrides;
  const started: StartedPart[] = [];
  let stopping: Promise<void> | null = null;
  let stopEndMs = 0;
  const stop = (forMs = STOP_MAX_MS): Promise<void> => {
    if (stopping === null) stopEndMs = clock.monotonicMs() + forMs;
    stopping ??= stopAll(started, log, (name) => {
      part = name;
    });
    return stopping;
  };
  let part = 'the start';
  let shardsWaiting = (): string[] => [];
  const metrics = new Metrics();
  let running: { broker: ServiceBroker; store: Store } | null = null;
  const readiness = async (): Promise<Readiness> =>
    running === null
      ? { ready: false, reasons: ['services are starting'] }
      : readinessOf({ ...running, services, needed: NEEDED_BY_GATEWAYS });
  const healthServer = (): HealthServer => {
    const stats = <T>(asked: Promise<T> | undefined): Promise<T | null> =>
      asked?.catch(() => null) ?? Promise.resolve(null);
    // A gateway also shows the numbers of an anchoring service elsewhere; others show their own
    // alone.
    const showsAnchoring = services.includes('anchoring') || services.includes('gateway');
    const gauges = new ServiceGauges(metrics.registry, {
      shards: () =>
        stats(services.includes('shards') && running ? call(running.broker, 'shards.stats', {}) : undefined),
      anchoring: () => stats(showsAnchoring && running ? call(running.broker, 'anchoring.stats', {}) : undefined),
    });
    const isStopping = () => stopping !== null;
    return new HealthServer(
      new Map([
        ['/livez', async () => livezPage()],
        ['/readyz', () => readyzPage({ readiness, isStopping })],
        ['/metrics', () => metricsPage({ metrics, gauges })],
      ]),
    );
  };
  try {
    const health = config.healthPort === null ? null : healthServer();
    if (health) started.push(['the health port', () => health.close()]);
    const healthUrl = health ? await health.listen(config.healthPort!, config.host) : null;
    await refuseLinks(config);
    const home = await takeHome(config);
    started.push(['the data directory', () => home.release()]);
    const isNew = config.mongoUrl === null && !(await isStoreMade(config.dataDir));
    const secrets = await openSecrets(config, isNew, log);
    const opening = openStore(config, home.folder, storeKeys(secrets), log, overrides.storeMaxPages);
    const store = await opening.catch((error: unknown) => {
      throw sayingWhatIsInTheWay(error);
    });
    started.push(['the store', () => store.close()]);
    const needsDevLedger = services.includes('anchoring') && config.ledger === 'on' && config.solanaRpcUrls === null;
    const devLedger = needsDevLedger ? await startDevLedger({ dataDir: config.dataDir, log }) : null;
    if (devLedger) started.push(['the ledger', () => devLedger.stop()]);

    const runtime: Runtime = { config, store, clock, log };
    const shardCalls = isShared(config) ? new ShardCalls(store.owners) : null;
    const options = brokerOptions({ config, log, metrics, transportKeys: transportKeys(secrets) });
    if (shardCalls) options.middlewares?.push(shardCalls.middleware, retriedCalls);
    if (services.includes('shards')) options.metadata = { ...options.metadata, ...shardNodeMetadata(config) };
    const broker = new ServiceBroker(options);
    const leave = async (): Promise<void> => {
      // The others have to hear first that this node serves nothing any more; what they still ask
      // for is refused, and goes elsewhere.
      if (shardCalls) await delay(LEAVE_MS);
      await broker.stop();
    };
    started.push(['the connections to other nodes', leave]);
    if (shardCalls) broker.createService(shardCalls.service);
    const factories: Record<ServiceName, () => ServiceSchema> = {
      gateway: () =>
        gateway(runtime, {
          metrics,
          timeouts: overrides.httpTimeouts,
          readiness,
        }),
      cluster: () => cluster(runtime),
      verification: () => verification(runtime),
      collections: () => collections(runtime),
      keys: () => keys(runtime),
      metering: () => metering(runtime),
      anchoring: () => anchoring(runtime, devLedger),
      shards: () => shards(runtime, shardCalls !== null),
    };
    for (const name of SERVICE_NAMES.filter((name) => services.includes(name)).reverse()) {
      const service = broker.createService(factories[name]());
      started.push([`the service ${name}`, () => broker.destroyService(service)]);
      if (name !== 'shards') continue;
      shardsWaiting = () => service.waiting();
      // Before Moleculer waits for the requests in flight: while the others ask for shards there
      // always are some.
      const forMs = (): number => Math.max(0, stopEndMs - AFTER_SHARDS_MS - clock.monotonicMs());
      if (shardCalls) started.push(['the shards', () => service.leave(forMs())]);
    }
    await broker.start();
    // Before the key is made: nothing may fail between that and telling it.
    const ledger = services.includes('anchoring') ? await call(broker, 'anchoring.info', {}) : null;
    const { bootstrapPlan, bootstrapKey } = config;
    const bootstrapSecret = services.includes('keys') ? await makeFirstKey(runtime, bootstrapPlan, bootstrapKey) : null;
    // Whoever finds the gateway listening is known to it. Where it cannot listen nobody is told the
    // key.
    const isKeyUntold = bootstrapSecret !== null && bootstrapKey === null;
    if (isKeyUntold) started.push(['the first key', () => forgetFirstKey(runtime)]);
    const url = services.includes('gateway') ? await listen(broker) : null;
    if (isKeyUntold) started.pop();
    running = { broker, store };
    return {
      url,
      healthUrl,
      bootstrapSecret,
      devLedger,
      ledger,
      broker,
      store,
      stop,
      waiting: () => [part, ...shardsWaiting()],
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listen(broker: Broker): Promise<string> {
  const { port, host } = await broker.call<{ port: number; host: string }, object>('gateway.listen', {});
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function stopAll(started: StartedPart[], log: Logger, onPart: (name: string) => void): Promise<void> {
  for (let part = started.pop(); part; part = started.pop()) {
    const [name, stop] = part;
    onPart(name);
    await stop().catch((error: unknown) =>
      log.error({ err: error, part: name }, 'a part of the service did not stop cleanly'),
    );
  }
}

/**
 * The driver of MongoDB is loaded where it is used only: a seventh of all that there is to load.
 */
async function openStore(
  { mongoUrl, dataDir }: Config,
  homeFolder: string,
  keys: StoreKeys,
  log: Logger,
  maxPages?: number,
): Promise<Store> {
  const checkpoints = checkpointsIn(homeFolder);
  if (mongoUrl === null) return openSqliteStore(dataDir, { keys, log, nodeFolder: checkpoints, maxPages });
  const { openMongoStore } = await import('./lib/store/mongo/store.ts');
  return openMongoStore({ url: mongoUrl, folder: checkpoints, keys, log });
}
