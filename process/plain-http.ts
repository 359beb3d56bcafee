import { BlockList, isIP } from 'node:net';
import type { Logger } from 'pino';
import type { Config } from './config.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

type Address = Pick<Config, 'host' | 'publicUrl' | 'tlsCert'>;

/** Warns the operator if clients on other machines would send their keys unencrypted. */
export function warnOfPlainHttp(config: Address, log: Pick<Logger, 'warn'>): void {
  const { host, publicUrl, tlsCert } = config;
  if (tlsCert !== null || publicUrl?.startsWith('https:') === true || isLoopback(host)) return;
  log.warn(
    `Provec listens on ${host} without TLS: API keys cross the network unencrypted. Set PROVEC_TLS_CERT and PROVEC_TLS_KEY, or put a proxy with TLS in front and set PROVEC_PUBLIC_URL to its https address; docs/deploy.md has both.`,
  );
}

/** Whether a host name or address means this machine. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === 'localhost' : LOOPBACK.check(host, version === 4 ? 'ipv4' : 'ipv6');
}
