/** How many connections with TLS a gateway accepts. */
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { AUTHORITY } from './proxy.ts';

const TLS = join(import.meta.dirname, '../golden/tls');
/** As docs/deploy.md says. */
const CONNECTIONS_MAX = 4_096;
const AT_ONCE = 64;

let service: TestService;
const sockets: TLSSocket[] = [];
beforeAll(async () => {
  service = await startService({
    PROVEC_TLS_CERT: join(TLS, 'first.pem'),
    PROVEC_TLS_KEY: join(TLS, 'first-key.pem'),
    PROVEC_LEDGER: 'off',
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await service?.stop();
});

/** Opens a connection, and sends a request, since the gateway closes those without. */
async function open(): Promise<TLSSocket> {
  const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1', ca: AUTHORITY });
  await once(socket, 'secureConnect');
  socket.on('error', () => undefined).write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'data');
  sockets.push(socket);
  return socket;
}

test('more than 4,096 connections are refused, and there is room again when one ends', async () => {
  while (sockets.length < CONNECTIONS_MAX) await Promise.all(Array.from({ length: AT_ONCE }, open));
  await expect(open()).rejects.toThrow();
  sockets[0].destroy();
  await until('there is room again', () => open().catch(() => null));
  await expect(open()).rejects.toThrow();
}, 120_000);
