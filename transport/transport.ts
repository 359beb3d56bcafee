import type { BrokerOptions } from 'moleculer';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Keyring } from '../lib/secret/keyring.ts';
import type { Config } from '../process/config.ts';
import { CborSerializer } from './cbor-serializer.ts';
import { type ConsoleEnd, ConsoleTransporter } from './console-transporter.ts';
import { RedisTransporter } from './redis-transporter.ts';
import { TcpTransporter } from './tcp-transporter.ts';
import { TRANSPORT_LIMITS, type TransportLimits } from './transport-limits.ts';
import { TransportMetrics } from './transport-metrics.ts';

export interface TransportSettings {
  /** Keys for sealing packets between members. */
  transportKeys: Keyring;
  /** Known nodes (TCP only), `host:port/nodeID` separated by commas; default: discovery. */
  tcpUrls?: string;
  limits?: TransportLimits;
  /** How consoles connect, if there are no other nodes. */
  consoles?: ConsoleEnd | undefined;
}

type TransportConfig = Pick<Config, 'transporter' | 'redisUrl'>;

/** Returns the transporter; if PROVEC_TRANSPORTER is unset, PROVEC_REDIS_URL decides. */
export function transportOf({ transporter, redisUrl }: TransportConfig): 'none' | 'TCP' | 'redis' {
  return transporter ?? (redisUrl === null ? 'none' : 'redis');
}

/** Returns the broker options that connect it to other nodes. */
export function transportOptions(
  config: TransportConfig,
  log: Logger,
  registry: Registry,
  settings: TransportSettings,
): Required<Pick<BrokerOptions, 'transporter' | 'serializer' | 'middlewares'>> {
  const kind = transportOf(config);
  if (kind === 'none') {
    const transporter = settings.consoles === undefined ? null : new ConsoleTransporter(settings.consoles);
    return { transporter, serializer: transporter && new CborSerializer(), middlewares: [] };
  }
  const options = {
    keys: settings.transportKeys,
    log: log.child({ module: 'transport' }),
    metrics: new TransportMetrics(registry),
    limits: settings.limits ?? TRANSPORT_LIMITS,
  };
  const serializer = new CborSerializer();
  if (kind === 'TCP')
    return { transporter: new TcpTransporter({ ...options, urls: settings.tcpUrls }), serializer, middlewares: [] };
  const transporter = new RedisTransporter({ ...options, url: config.redisUrl! });
  // Moleculer itself would wait forever without a message.
  const middlewares = [{ name: 'RedisAtStart', starting: () => transporter.reach() }];
  return { transporter, serializer, middlewares };
}
