import { hash } from 'node:crypto';
import type { BrokerOptions } from 'moleculer';
import type { Logger } from 'pino';
import { INTERNAL_LIMITS } from './lib/limits.ts';
import { SYSTEM_CLOCK } from './lib/time/clock.ts';
import { VERSION } from './lib/version.ts';
import { CancelledCalls } from './mixins/cancelled-calls.ts';
import type { Metrics } from './mixins/metrics.ts';
import { MoleculerLogger } from './mixins/moleculer-logger.ts';
import { paramsCheck } from './mixins/params-check.ts';
import { isShardRead } from './mixins/shard-router/shard-calls.ts';
import type { Config } from './process/config.ts';
import { nodeName } from './process/node-home.ts';
import { ErrorRegenerator } from './transport/error-regenerator.ts';
import { LostCalls } from './transport/lost-calls.ts';
import { trackSilence } from './transport/node-silence.ts';
import { SettledRequests } from './transport/settled-requests.ts';
import { type TransportSettings, transportOf, transportOptions } from './transport/transport.ts';

const SERVICE_DRAIN_MS = 10_000;
/**
 * Delay before a node announces a service that starts or stops. Moleculer's default of a second is
 * half of what a stopping node has.
 */
const CHANGED_DEBOUNCE_MS = 100;
const HEARTBEAT_SECONDS = 2;
/** Three missed heartbeats. */
const HEARTBEAT_TIMEOUT_SECONDS = 6;
/** More than twice the depth of any call; stops cyclic calls. */
const CALL_LEVELS_MAX = 16;

/** Silences Moleculer until the services run: the caller reports a failed start in one line. */
class QuietStartLogger extends MoleculerLogger {
  #quiet: boolean;

  constructor(log: Logger) {
    super(log);
    this.#quiet = !log.isLevelEnabled('debug');
  }

  override getLogHandler(...bindings: Parameters<MoleculerLogger['getLogHandler']>) {
    const handler = super.getLogHandler(...bindings);
    return (...line: Parameters<typeof handler>): void => {
      if (!this.#quiet) handler(...line);
    };
  }

  unmute(): void {
    this.#quiet = false;
  }
}

export interface BrokerSettings extends TransportSettings {
  config: Pick<Config, 'nodeId' | 'transporter' | 'redisUrl' | 'dataDir'>;
  log: Logger;
  metrics: Metrics;
  /** Nodes see only their own namespace. Default: from the Redis database or data folder. */
  namespace?: string;
}

function namespaceOf(config: BrokerSettings['config']): string {
  if (transportOf(config) !== 'TCP') {
    // Redis delivers messages across its databases. Clusters with different ones must stay
    // separate.
    const database = config.redisUrl === null ? '' : new URL(config.redisUrl).pathname.slice(1);
    return database === '' || database === '0' ? 'provec' : `provec-${database}`;
  }
  return `provec-${hash('sha256', config.dataDir).slice(0, 16)}`;
}

/** Returns a process's broker options. The process itself handles signals and exit codes. */
export function brokerOptions({ config, log, metrics, namespace, ...settings }: BrokerSettings): BrokerOptions {
  const logger = new QuietStartLogger(log);
  const requests = new SettledRequests();
  const { transporter, serializer, middlewares } = transportOptions(config, log, metrics.registry, settings);
  const monotonicMs = (): number => SYSTEM_CLOCK.monotonicMs();
  if (transportOf(config) !== 'none')
    middlewares?.push(new LostCalls({ log, monotonicMs, isRepeatable: isShardRead }).middleware);
  // TCP nodes send no regular heartbeats, and on one machine there are no network partitions.
  if (transportOf(config) === 'redis') middlewares?.push(trackSilence(monotonicMs));
  return {
    namespace: namespace ?? namespaceOf(config),
    nodeID: nodeName(config),
    // Shown to operators.
    metadata: { version: VERSION, startedAtMs: Math.round(performance.timeOrigin) },
    logger,
    transporter,
    serializer,
    errorRegenerator: new ErrorRegenerator(log),
    validator: false,
    heartbeatInterval: HEARTBEAT_SECONDS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_SECONDS,
    // Moleculer's default is no timeout.
    requestTimeout: INTERNAL_LIMITS.actionTimeoutMs,
    maxCallLevel: CALL_LEVELS_MAX,
    contextParamsCloning: false,
    disableBalancer: false,
    // Without this a stopping service fails the calls in flight.
    tracking: { enabled: true, shutdownTimeout: SERVICE_DRAIN_MS },
    registry: { stopDelay: 0 },
    transit: { serviceChangedDebounceTime: CHANGED_DEBOUNCE_MS } as BrokerOptions['transit'],
    skipProcessEventRegistration: true,
    // The first one is innermost: nearest to the action, or to the wire.
    middlewares: [
      new CancelledCalls().middleware,
      paramsCheck,
      requests.middleware,
      metrics.middleware,
      ...(middlewares ?? []),
    ],
    errorHandler: requests.errorHandler,
    started: () => logger.unmute(),
  };
}
