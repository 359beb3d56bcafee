import type { IncomingHttpHeaders } from 'node:http';
import { type BlockList, isIP } from 'node:net';

/** Addresses of a header that are looked at, from the right: no chain of proxies is longer. */
const PROXIES_MAX = 32;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The parts of a request that name its client. */
interface Connected {
  headers: IncomingHttpHeaders;
  socket: { remoteAddress?: string | undefined };
}

/**
 * Returns the IP address of the client of a request: that of the connection, or the last one in
 * `X-Forwarded-For` that no trusted proxy has. What a client itself writes there is never used,
 * because proxies append the address that they see.
 */
export function clientAddressOf({ headers, socket }: Connected, trusted: BlockList): string {
  let address = plainAddress(socket.remoteAddress ?? '');
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',');
  for (const claimed of forwarded.slice(-PROXIES_MAX).reverse()) {
    const next = plainAddress(claimed.trim());
    if (!isTrusted(address, trusted) || isIP(next) === 0) break;
    address = next;
  }
  return address;
}

/** Returns the IPv4 address of one that is written as IPv6. */
const plainAddress = (address: string): string => MAPPED.exec(address)?.[1] ?? address;

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
