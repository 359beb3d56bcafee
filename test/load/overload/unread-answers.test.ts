import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

/** The state of a connection in /proc/net/tcp. */
const ESTABLISHED = '01';
const MIB = 1024 * 1024;
const CONNECTIONS = 500;
const PIPELINED = 100;
const GROWTH_MAX_BYTES = 64 * MIB;
const HEAP_MAX_MIB = 112;
/** Rounds of the same load from clients that read their responses. */
const READ_FIRST = 2;
/** Idle connections are kept for 65 s. */
const TEST_MAX_MS = 300_000;
const NAMESPACES = 1_000;

let service: ServiceProcess;
let sockets: Socket[];
beforeEach(async () => {
  // Small enough that garbage does not matter.
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

/**
 * Opens connections that send their requests at once; the last request of each has `lastHeader`.
 */
function ask(path: string, requests: number, lastHeader: string): Socket[] {
  const { hostname, port } = new URL(service.url);
  const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_KEY}\r\n`;
  const text = `${`${head}\r\n`.repeat(requests - 1)}${head}${lastHeader}\r\n\r\n`;
  return Array.from({ length: CONNECTIONS }, () => {
    const socket = connect({ port: Number(port), host: hostname });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(text);
    sockets.push(socket);
    return socket;
  });
}

/**
 * The same load from clients that read, which grows the heap to the size that such a load needs.
 */
async function askAndRead(path: string, requests: number): Promise<void> {
  const closed = ask(path, requests, 'Connection: close').map(
    (socket) => new Promise((resolve) => socket.resume().once('close', resolve)),
  );
  await Promise.all(closed);
}

/** Client connections that the service has not closed. */
async function openSockets(): Promise<number> {
  const { port } = new URL(service.url);
  const local = `:${Number(port).toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  return lines.filter(([, address, , state]) => address?.endsWith(local) && state === ESTABLISHED).length;
}

/** Largest memory growth beyond that of reading clients, until all connections were cut off. */
async function growthOf(path: string, readFirst: number): Promise<number> {
  const idleBytes = await residentBytes();
  for (let at = 0; at < READ_FIRST; at++) await askAndRead(path, readFirst);
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
  ask(path, PIPELINED, 'Connection: keep-alive');
  try {
    await until('all connections were taken', async () => (await openSockets()) >= CONNECTIONS);
    // Small answers fit into the system's buffers. Their connections count as idle afterwards.
    await until('some were cut off', async () => (await openSockets()) < CONNECTIONS);
    await until('all were cut off', async () => (await openSockets()) === 0);
  } finally {
    clearInterval(look);
  }
  const [read, unread] = [beforeBytes - idleBytes, mostBytes - beforeBytes].map((bytes) => Math.round(bytes / MIB));
  console.log(
    `${path}: ${read} MiB for ${CONNECTIONS} connections that read, ${unread} MiB more for as many that do not`,
  );
  return mostBytes - beforeBytes;
}

test.each(['/openapi.json', '/metrics', '/', '/api/v1/nothing'])(
  'connections that request %s a hundred times and read nothing take little memory, and are closed',
  async (path) => {
    expect(await growthOf(path, PIPELINED)).toBeLessThan(GROWTH_MAX_BYTES);
  },
  TEST_MAX_MS,
);

test.each(['/console/', 'node_modules/uplot/dist/uPlot.esm.js'])(
  'the same for the document of the console and its largest file: %s',
  async (name) => {
    const html = await (await fetch(`${service.url}/console/`)).text();
    const [, version] = / src="([^/"]+)\//.exec(html)!;
    const path = name.startsWith('/') ? name : `/console/${version}/${name}`;
    expect(await growthOf(path, PIPELINED)).toBeLessThan(GROWTH_MAX_BYTES);
  },
  TEST_MAX_MS,
);

test(
  'the same with a key, for a page of namespaces with long names',
  async () => {
    await service.api('POST', '/collections', { name: 'docs', dimensions: 2 });
    for (let at = 0; at < NAMESPACES; at += 10) {
      const names = Array.from({ length: 10 }, (_, more) => `${at + more}`.padEnd(500, 'n'));
      await Promise.all(
        names.map((namespace) =>
          service.api('POST', '/collections/docs/upsert', { namespace, records: [{ id: 'a', values: [1, 2] }] }),
        ),
      );
    }
    expect(await growthOf('/api/v1/collections/docs/namespaces?limit=1000', 4)).toBeLessThan(GROWTH_MAX_BYTES);
  },
  TEST_MAX_MS,
);
