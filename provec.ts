/**
 * The composition root: builds a Provec process from its configuration.
 *
 * It starts the health port, the gateway's port, the data folder's lock, store, embedded ledger,
 * services and first key; the gateway accepts requests last. If a step fails, everything started
 * before is stopped in reverse order, so that a failed start leaves nothing behind. Services stop
 * in an order in which no running service needs a stopped one.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type ServiceBroker as Broker, ServiceBroker, type ServiceSchema } from 'moleculer';
import type { Logger } from 'pino';
import type { LedgerInfo } from './contracts/actions/anchoring.ts';
import { type Caller, call } from './contracts/actions/call.ts';
import { STOP_MAX_MS } from './lib/limits.ts';
import { type Keyring, type StoreKeys, storeKeys, transportKeys } from './lib/secret/keyring.ts';
import { type Clock, SYSTEM_CLOCK } from './lib/time/clock.ts';
import { livezPage, metricsPage, type Readiness, readyzPage, type WebPage } from './mixins/health/health-pages.ts';
import { HealthServer } from './mixins/health/health-server.ts';
import { ReadinessCheck } from './mixins/health/readiness.ts';
import { Metrics } from './mixins/metrics.ts';
import { serviceGauges } from './mixins/metrics-gauges.ts';
import { retriedCalls } from './mixins/retried-calls.ts';
import { ShardCalls } from './mixins/shard-router/shard-calls.ts';
import { shardNodeMetadata } from './mixins/shard-router/shard-nodes.ts';
import { brokerOptions } from './moleculer.config.ts';
import { type Config, schemeOf } from './process/config.ts';
import { withStartupHint } from './process/data-dir.ts';
import { makeLogger } from './process/logger.ts';
import { checkpointsIn, isShared, lockHome } from './process/node-home.ts';
import { refuseSymbolicLinks } from './process/own-files.ts';
import { warnOfPlainHttp } from './process/plain-http.ts';
import { type Runtime, runtimeOf } from './process/runtime.ts';
import { loadSecrets } from './process/secret-file.ts';
import { SERVICE_NAMES, type ServiceName } from './process/service-names.ts';
import { StartedParts } from './process/started-parts.ts';
import anchoring from './services/anchoring/anchoring.service.ts';
import cluster from './services/cluster/cluster.service.ts';
import collections from './services/collections/collections.service.ts';
import { type DevLedger, startDevLedger } from './services/devledger/process.ts';
import { FrontDoor } from './services/gateway/front-door.ts';
import gateway from './services/gateway/gateway.service.ts';
import type { HttpTimeouts } from './services/gateway/http-server.ts';
import { makeFirstKey } from './services/keys/first-key.ts';
import keys from './services/keys/keys.service.ts';
import metering from './services/metering/metering.service.ts';
import shards from './services/shards/shards.service.ts';
import verification from './services/verification/verification.service.ts';
import type { Store } from './store/port.ts';
import { isStoreMade, openSqliteStore } from './store/sqlite/store.ts';

/** Time for other nodes to learn that this node no longer serves requests. */
const LEAVE_MS = 2_000;
/** Part of the stop time for steps after the shards: `LEAVE_MS`, and closing connections. */
const AFTER_SHARDS_MS = LEAVE_MS + 2_000;

/** Client requests need all services but the operators' one. */
const NEEDED_BY_GATEWAYS = SERVICE_NAMES.filter((name) => name !== 'cluster');

export interface Overrides {
  clock?: Clock;
  log?: Logger;
  /** Default: all. */
  services?: readonly ServiceName[];
  /** Default: those of `INTERNAL_LIMITS`. */
  httpTimeouts?: HttpTimeouts;
  /** The gateway's server, which may be listening already; it is closed with the process. */
  door?: FrontDoor;
  /** Maximum pages per file of the embedded store, to simulate a small disk; for tests. */
  storeMaxPages?: number;
}

/** A running Provec process. */
export interface Provec {
  /** URL of the gateway without the API's base path; null if this process has no gateway. */
  readonly url: string | null;
  /** URL of the health port; null without one. */
  readonly healthUrl: string | null;
  /**
   * The first API key; null unless this start made it, or finds that no start has shown it. Once a
   * generated one is shown, the caller calls `recordShown`.
   */
  readonly bootstrapSecret: string | null;
  readonly devLedger: DevLedger | null;
  /** Null if anchoring runs in another process. */
  readonly ledger: LedgerInfo | null;
  readonly broker: Broker;
  readonly store: Store;
  /** Stops within `forMs` milliseconds, completing requests. Idempotent; never rejects. */
  stop(forMs?: number): Promise<void>;
  /** Returns what a stop waits for: the current part, and each shard with its reason. */
  waiting(): string[];
}

/** Starts Provec. Throws DataDirError, StoreError, or an error with a message for the operator. */
export async function startProvec(config: Config, overrides: Overrides = {}): Promise<Provec> {
  const process = new ProvecProcess(config, overrides);
  try {
    return await process.start();
  } catch (error) {
    await process.stop();
    throw error;
  }
}

class ProvecProcess {
  readonly #config: Config;
  readonly #overrides: Overrides;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #services: readonly ServiceName[];
  readonly #metrics = new Metrics();
  readonly #parts: StartedParts;
  #running: { broker: ServiceBroker; readiness: ReadinessCheck } | null = null;
  #stopEndMs = 0;
  #shardsWaiting = (): string[] => [];

  constructor(config: Config, overrides: Overrides) {
    const { clock = SYSTEM_CLOCK, log = makeLogger(config), services = SERVICE_NAMES } = overrides;
    this.#config = config;
    this.#overrides = overrides;
    this.#clock = clock;
    this.#log = log;
    this.#services = services;
    this.#parts = new StartedParts(log);
  }

  async start(): Promise<Provec> {
    const healthUrl = await this.#startHealth();
    const door = await this.#openDoor();
    const { store, keys } = await this.#openStore();
    const devLedger = await this.#startDevLedger(door);
    const runtime = runtimeOf({ config: this.#config, store, clock: this.#clock, log: this.#log });
    const broker = this.#makeServices(runtime, keys, devLedger, door);
    await broker.start();
    const ledger = this.#runs('anchoring') ? await call(broker, 'anchoring.info', {}) : null;
    const { bootstrapSecret, url } = await this.#open(broker, store);
    this.#running = { broker, readiness: this.#readinessCheck(broker, store) };
    return {
      url,
      healthUrl,
      bootstrapSecret,
      devLedger,
      ledger,
      broker,
      store,
      stop: (forMs) => this.stop(forMs),
      waiting: () => [this.#parts.current, ...this.#shardsWaiting()],
    };
  }

  stop(forMs = STOP_MAX_MS): Promise<void> {
    if (!this.#parts.isStopping) this.#stopEndMs = this.#clock.monotonicMs() + forMs;
    return this.#parts.stop();
  }

  #runs(name: ServiceName): boolean {
    return this.#services.includes(name);
  }

  /** Returns the URL; null without a health port. */
  async #startHealth(): Promise<string | null> {
    const { adminToken, healthHost, healthPort, host } = this.#config;
    if (healthPort === null) return null;
    const readiness = (): Promise<Readiness> => this.#readiness();
    const isStopping = (): boolean => this.#parts.isStopping;
    const pages = { metrics: this.#metrics, refresh: this.#gauges() };
    const health = new HealthServer(
      new Map<string, WebPage>([
        ['/livez', livezPage],
        ['/readyz', (headers) => readyzPage({ readiness, isStopping }, headers, adminToken)],
        ['/metrics', () => metricsPage(pages)],
      ]),
    );
    this.#parts.add('the health port', () => health.close());
    return health.listen(healthPort, healthHost ?? host);
  }

  async #readiness(): Promise<Readiness> {
    return this.#running?.readiness.run() ?? { status: 'starting', reasons: ['services are starting'] };
  }

  #readinessCheck(broker: ServiceBroker, store: Store): ReadinessCheck {
    const parts = { broker, store, services: this.#services, needed: NEEDED_BY_GATEWAYS, log: this.#log };
    return new ReadinessCheck(parts);
  }

  #gauges(): () => Promise<void> {
    const stats = async <T>(isShown: boolean, ask: (broker: Caller) => Promise<T>): Promise<T | null> =>
      isShown && this.#running ? ask(this.#running.broker) : null;
    // A gateway also shows another process's anchoring service; all others show only their own.
    const showsAnchoring = this.#runs('anchoring') || this.#runs('gateway');
    return serviceGauges(this.#metrics.registry, {
      shards: () => stats(this.#runs('shards'), (broker) => call(broker, 'shards.stats', {})),
      anchoring: () => stats(showsAnchoring, (broker) => call(broker, 'anchoring.stats', {})),
    });
  }

  /** Listens, and answers requests with "try again" until the services run. */
  async #openDoor(): Promise<FrontDoor | null> {
    if (!this.#runs('gateway')) return null;
    const { door = new FrontDoor(this.#config, this.#log, this.#overrides.httpTimeouts) } = this.#overrides;
    this.#parts.add('the port', () => door.close(0));
    // If the address is in use, tries again after everything has started: another run of this
    // Provec may hold it, which the data folder's lock then reports, or which is about to end.
    await door.listen().catch(() => undefined);
    return door;
  }

  /** Locks the data folder for this process and opens the store with its secrets. */
  async #openStore(): Promise<{ store: Store; keys: Keyring }> {
    const config = this.#config;
    await refuseSymbolicLinks(config);
    const home = await lockHome(config);
    this.#parts.add('the data directory', () => home.release());
    const isNew = config.mongoUrl === null && !(await isStoreMade(config.dataDir));
    const secrets = await loadSecrets(config, isNew, this.#log);
    const { storeMaxPages } = this.#overrides;
    const opening = openStore(config, home.folder, storeKeys(secrets), this.#log, storeMaxPages);
    const store = await opening.catch((error: unknown) => {
      throw withStartupHint(error);
    });
    this.#parts.add('the store', () => store.close());
    return { store, keys: transportKeys(secrets) };
  }

  async #startDevLedger(door: FrontDoor | null): Promise<DevLedger | null> {
    const { dataDir, ledger, solanaRpcUrls, corsOrigins } = this.#config;
    if (!this.#runs('anchoring') || ledger === 'off' || solanaRpcUrls !== null) return null;
    const readers = [...corsOrigins, ...(door?.ownOrigins() ?? [])];
    const devLedger = await startDevLedger({ dataDir, log: this.#log, readers });
    this.#parts.add('the ledger', () => devLedger.stop());
    return devLedger;
  }

  #makeServices(
    runtime: Runtime,
    transportKeys: Keyring,
    devLedger: DevLedger | null,
    door: FrontDoor | null,
  ): ServiceBroker {
    const { config, log, store } = runtime;
    const shardCalls = isShared(config) ? new ShardCalls(store.owners) : null;
    const consoles = isShared(config) ? undefined : ({ side: 'service', dataDir: config.dataDir, log } as const);
    const options = brokerOptions({ config, log, metrics: this.#metrics, transportKeys, consoles });
    if (shardCalls) options.middlewares?.push(shardCalls.middleware, retriedCalls);
    if (this.#runs('shards')) options.metadata = { ...options.metadata, ...shardNodeMetadata(config) };
    const broker = new ServiceBroker(options);
    this.#parts.add('the connections to other nodes', async () => {
      // Other nodes must first learn that this node is leaving. Until then their calls are refused
      // and go to other nodes.
      if (shardCalls) await delay(LEAVE_MS);
      await broker.stop();
    });
    if (shardCalls) broker.createService(shardCalls.service);
    const factories = this.#factories(runtime, devLedger, door, shardCalls !== null);
    for (const name of SERVICE_NAMES.filter((name) => this.#runs(name)).reverse()) {
      const service = broker.createService(factories[name]());
      this.#parts.add(`the service ${name}`, () => broker.destroyService(service));
      if (name === 'shards') this.#stopShards(service as unknown as ShardsService, shardCalls !== null);
    }
    return broker;
  }

  #factories(
    runtime: Runtime,
    devLedger: DevLedger | null,
    door: FrontDoor | null,
    isCluster: boolean,
  ): Record<ServiceName, () => ServiceSchema> {
    const readiness = (): Promise<Readiness> => this.#readiness();
    return {
      gateway: () => gateway(runtime, { metrics: this.#metrics, door: door!, readiness }),
      cluster: () => cluster(runtime),
      verification: () => verification(runtime),
      collections: () => collections(runtime),
      keys: () => keys(runtime),
      metering: () => metering(runtime),
      anchoring: () => anchoring(runtime, devLedger),
      shards: () => shards(runtime, isCluster),
    };
  }

  /**
   * Stops shards before Moleculer waits for requests in flight: other nodes keep sending some in a
   * cluster, and background verifications do in a single process.
   */
  #stopShards(service: ShardsService, isCluster: boolean): void {
    this.#shardsWaiting = () => service.waiting();
    const forMs = (): number => Math.max(0, this.#stopEndMs - AFTER_SHARDS_MS - this.#clock.monotonicMs());
    if (isCluster) this.#parts.add('the shards', () => service.leave(forMs()));
    else this.#parts.add('the verifications', async () => service.endRecomputations());
  }

  /** Makes the first key if it is due, and accepts requests. */
  async #open(broker: ServiceBroker, store: Store): Promise<Pick<Provec, 'url' | 'bootstrapSecret'>> {
    const { bootstrapKey, bootstrapPlan } = this.#config;
    const runtime = { store, clock: this.#clock, log: this.#log };
    // The first key exists before the gateway accepts requests.
    const bootstrapSecret = this.#runs('keys') ? await makeFirstKey(runtime, bootstrapPlan, bootstrapKey) : null;
    const url = this.#runs('gateway') ? await listen(broker, this.#config) : null;
    if (url !== null) warnOfPlainHttp(this.#config, this.#log);
    return { bootstrapSecret, url };
  }
}

/** Methods of the shards service. */
interface ShardsService {
  waiting(): string[];
  leave(forMs: number): Promise<void>;
  endRecomputations(): void;
}

async function listen(broker: Broker, config: Config): Promise<string> {
  const { port, host } = await broker.call<{ port: number; host: string }, object>('gateway.listen', {});
  return `${schemeOf(config)}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Opens the store. The MongoDB driver is a seventh of all code, so it is loaded only if needed. */
async function openStore(
  { mongoUrl, dataDir }: Config,
  homeFolder: string,
  keys: StoreKeys,
  log: Logger,
  maxPages?: number,
): Promise<Store> {
  const checkpoints = checkpointsIn(homeFolder);
  if (mongoUrl === null) return openSqliteStore(dataDir, { keys, log, nodeFolder: checkpoints, maxPages });
  const { openMongoStore } = await import('./store/mongo/store.ts');
  return openMongoStore({ url: mongoUrl, folder: checkpoints, keys, log });
}
