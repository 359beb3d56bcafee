import { hostname, networkInterfaces } from 'node:os';

/** Names and addresses of this machine. */
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether data sent to an address leaves this machine. */
export function isOtherMachine({ hostname: host }: URL): boolean {
  if (LOOPBACK.test(host) || host === hostname().toLowerCase()) return false;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return !own.some(({ address }) => address === host.replace(/^\[|\]$/g, ''));
}
