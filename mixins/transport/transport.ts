import type { BrokerOptions } from 'moleculer';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../../lib/config.ts';
import type { Keyring } from '../../lib/secret/keyring.ts';
import { CborSerializer } from './cbor-serializer.ts';
import { type ConsoleEnd, ConsoleTransporter } from './console-transporter.ts';
import { RedisTransporter } from './redis-transporter.ts';
import { TcpTransporter } from './tcp-transporter.ts';
import { TRANSPORT_LIMITS, type TransportLimits } from './transport-limits.ts';
import { TransportMetrics } from './transport-metrics.ts';

export interface TransportSettings {
  /** What members seal their packets with. */
  transportKeys: Keyring;
  /**
   * Nodes known beforehand (TCP only), `host:port/nodeID` separated by commas; without it they are
   * searched for on this machine.
   */
  tcpUrls?: string;
  limits?: TransportLimits;
  /** Where there are no other nodes: how consoles join. */
  consoles?: ConsoleEnd | undefined;
}

type TransportConfig = Pick<Config, 'transporter' | 'redisUrl'>;

/** What carries calls between nodes; PROVEC_REDIS_URL decides where PROVEC_TRANSPORTER does not. */
export function transportOf({ transporter, redisUrl }: TransportConfig): 'none' | 'TCP' | 'redis' {
  return transporter ?? (redisUrl === null ? 'none' : 'redis');
}

/** The part of a broker's options that connects it to other nodes. */
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
  // Moleculer itself would wait for ever, and say nothing.
  const middlewares = [{ name: 'RedisAtStart', starting: () => transporter.reach() }];
  return { transporter, serializer, middlewares };
}
