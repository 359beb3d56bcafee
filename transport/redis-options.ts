import type { TransportLimits } from './transport-limits.ts';

const REDIS_PORT = 6379;

/** Options of an ioredis client that connects once, on request, and queues nothing. */
export function redisOptions(
  redisUrl: string,
  limits: Pick<TransportLimits, 'redisConnectMaxMs' | 'redisReplyMaxMs'>,
): Record<string, unknown> {
  const url = new URL(redisUrl);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return {
    host,
    port: url.port === '' ? REDIS_PORT : Number(url.port),
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    ...(url.protocol === 'rediss:' ? { tls: { servername: host } } : {}),
    lazyConnect: true,
    retryStrategy: () => null,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    connectTimeout: limits.redisConnectMaxMs,
    socketTimeout: limits.redisReplyMaxMs,
    keepAlive: 10_000,
    disableClientInfo: true,
  };
}
