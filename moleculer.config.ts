import { hash } from 'node:crypto';
import type { BrokerOptions } from 'moleculer';
import type { Logger } from 'pino';
import type { Config } from './lib/config.ts';
import { INTERNAL_LIMITS } from './lib/limits.ts';
import { nodeName } from './lib/process/node-home.ts';
import { SYSTEM_CLOCK } from './lib/time/clock.ts';
import { VERSION } from './lib/version.ts';
import { CancelledCalls } from './mixins/cancelled-calls.ts';
import type { Metrics } from './mixins/metrics.ts';
import { MoleculerLogger } from './mixins/moleculer-logger.ts';
import { paramsCheck } from './mixins/params-check.ts';
import { isShardRead } from './mixins/shard-router/shard-calls.ts';
import { ErrorRegenerator } from './mixins/transport/error-regenerator.ts';
import { hearing } from './mixins/transport/hearing.ts';
import { LostCalls } from './mixins/transport/lost-calls.ts';
import { SettledRequests } from './mixins/transport/settled-requests.ts';
import { type TransportSettings, transportOf, transportOptions } from './mixins/transport/transport.ts';

const SERVICE_DRAIN_MS = 10_000;
/**
 * Between a service that starts or stops and the word of it to the others; Moleculer's second is
 * half of what a stopping node has.
 */
const CHANGED_DEBOUNCE_MS = 100;
const HEARTBEAT_SECONDS = 2;
/** After three missed heartbeats a node counts as gone. */
const HEARTBEAT_TIMEOUT_SECONDS = 6;
/** No call of ours goes half as deep: a circle of calls ends here. */
const CALL_LEVELS_MAX = 16;

/**
 * Keeps Moleculer silent until the services run: a start that fails is told in one line, by whoever
 * started it.
 */
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
  /**
   * Nodes see only those of the same namespace. Default: those of the same Redis, or of the same
   * data folder.
   */
  namespace?: string;
}

function namespaceOf(config: BrokerSettings['config']): string {
  if (transportOf(config) !== 'TCP') {
    // Redis tells messages of every database to all: clusters that have one each must not hear each
    // other.
    const database = config.redisUrl === null ? '' : new URL(config.redisUrl).pathname.slice(1);
    return database === '' || database === '0' ? 'provec' : `provec-${database}`;
  }
  return `provec-${hash('sha256', config.dataDir).slice(0, 16)}`;
}

/**
 * How the broker of a Provec process is set up. Signals and exit codes are the process's business,
 * so Moleculer leaves them alone.
 */
export function brokerOptions({ config, log, metrics, namespace, ...settings }: BrokerSettings): BrokerOptions {
  const logger = new QuietStartLogger(log);
  const requests = new SettledRequests();
  const { transporter, serializer, middlewares } = transportOptions(config, log, metrics.registry, settings);
  const monotonicMs = (): number => SYSTEM_CLOCK.monotonicMs();
  if (transportOf(config) !== 'none')
    middlewares?.push(new LostCalls({ log, monotonicMs, isRepeatable: isShardRead }).middleware);
  // Over TCP nodes tell of themselves now and then, as chance has it; they are on one machine,
  // where nothing is cut.
  if (transportOf(config) === 'redis') middlewares?.push(hearing(monotonicMs));
  return {
    namespace: namespace ?? namespaceOf(config),
    nodeID: nodeName(config),
    // What operators see of the node.
    metadata: { version: VERSION, startedAtMs: Math.round(performance.timeOrigin) },
    logger,
    transporter,
    serializer,
    errorRegenerator: new ErrorRegenerator(log),
    validator: false,
    heartbeatInterval: HEARTBEAT_SECONDS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_SECONDS,
    // Moleculer's own default is to wait for ever.
    requestTimeout: INTERNAL_LIMITS.actionTimeoutMs,
    maxCallLevel: CALL_LEVELS_MAX,
    contextParamsCloning: false,
    disableBalancer: false,
    // Without it a service that stops fails the calls in flight.
    tracking: { enabled: true, shutdownTimeout: SERVICE_DRAIN_MS },
    registry: { stopDelay: 0 },
    transit: { serviceChangedDebounceTime: CHANGED_DEBOUNCE_MS } as BrokerOptions['transit'],
    skipProcessEventRegistration: true,
    // The first one is nearest to the action, or to the wire.
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
