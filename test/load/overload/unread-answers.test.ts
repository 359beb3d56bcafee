import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

/** As /proc/net/tcp has it. */
const ESTABLISHED = '01';
const MIB = 1024 * 1024;
const CONNECTIONS = 500;
const PIPELINED = 100;
const GROWTH_MAX_BYTES = 64 * MIB;
const HEAP_MAX_MIB = 112;
const NAMESPACES = 1_000;

let service: ServiceProcess;
let sockets: Socket[];
beforeEach(async () => {
  // Small enough for garbage not to count.
  service = await startProcess({ NODE_OPTIONS: `--max-old-space-size=${HEAP_MAX_MIB}` });
  sockets = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await service.dispose();
});

async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) * 1024;
}

/** Opens connections that send their requests at once and read nothing. */
function askWithoutReading(path: string): void {
  const { hostname, port } = new URL(service.url);
  const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_KEY}\r\n\r\n`;
  for (let at = 0; at < CONNECTIONS; at++) {
    const socket = connect({ port: Number(port), host: hostname });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(request.repeat(PIPELINED));
    sockets.push(socket);
  }
}

/** Connections of clients that the service has not closed. */
async function openSockets(): Promise<number> {
  const { port } = new URL(service.url);
  const local = `:${Number(port).toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  return lines.filter(([, address, , state]) => address?.endsWith(local) && state === ESTABLISHED).length;
}

/** Most that the process took beyond what it had before, until the gateway had cut off all. */
async function growthOf(path: string): Promise<number> {
  for (let at = 0; at < 20; at++) await (await fetch(service.url + path, AUTHORIZED)).text();
  const beforeBytes = await residentBytes();
  let mostBytes = 0;
  const look = setInterval(() => {
    void residentBytes().then(
      (bytes) => {
        mostBytes = Math.max(mostBytes, bytes);
      },
      () => undefined,
    );
  }, 50);
  askWithoutReading(path);
  try {
    await until('all connections were taken', async () => (await openSockets()) >= CONNECTIONS);
    await until('all were cut off', async () => (await openSockets()) === 0);
  } finally {
    clearInterval(look);
  }
  console.log(`${path}: ${Math.round((mostBytes - beforeBytes) / MIB)} MiB more for ${CONNECTIONS} connections`);
  return mostBytes - beforeBytes;
}
const AUTHORIZED = { headers: { authorization: `Bearer ${TEST_KEY}` } };

test.each(['/openapi.json', '/metrics', '/', '/api/v1/nothing'])(
  'connections that ask for %s a hundred times and read nothing take little memory, and are cut off',
  async (path) => {
    expect(await growthOf(path)).toBeLessThan(GROWTH_MAX_BYTES);
  },
);

test('the same with a key, for a page of namespaces with long names', async () => {
  await service.api('POST', '/collections', { name: 'docs', dimensions: 2 });
  for (let at = 0; at < NAMESPACES; at += 10) {
    const names = Array.from({ length: 10 }, (_, more) => `${at + more}`.padEnd(500, 'n'));
    await Promise.all(
      names.map((namespace) =>
        service.api('POST', '/collections/docs/upsert', { namespace, records: [{ id: 'a', values: [1, 2] }] }),
      ),
    );
  }
  expect(await growthOf('/api/v1/collections/docs/namespaces?limit=1000')).toBeLessThan(GROWTH_MAX_BYTES);
});
