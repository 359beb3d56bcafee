import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { firstOf } from '../../lib/checked-access.ts';

/** Returns a port that is free now. */
export async function freePort(): Promise<number> {
  return firstOf(await freePorts(1));
}

/**
 * Returns `count` different ports that are free now. Another process may take one before it is
 * used.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
