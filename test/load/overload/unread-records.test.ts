/**
 * Clients of one account that ask for large records, each many times on many connections, and read
 * nothing: how far the process grows, and what it keeps of it.
 */
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const RECORDS = 1_000;
const METADATA_BYTES = 40_000;
const CONNECTIONS = 200;
const PIPELINED = 50;
const SECONDS = 20;
/**
 * Largest growth. Answers of one account take up to 256 MiB; V8 lets as much garbage pile up, and
 * each thread has some memory of its own.
 */
const GROWTH_MAX_MIB = 768;
/** Growth that may remain after the clients have left. */
const REMAINDER_MAX_MIB = 128;

let service: ServiceProcess;
const sockets: Socket[] = [];
beforeEach(async () => {
  service = await startProcess({ PROVEC_LEDGER: 'off' });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await service.dispose();
});

async function residentMiB(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024);
}

function ask(path: string, body: string): void {
  const { hostname, port } = new URL(service.url);
  const request = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  for (let at = 0; at < CONNECTIONS; at++) {
    const socket = connect({ port: Number(port), host: hostname });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(request.repeat(PIPELINED));
    sockets.push(socket);
  }
}

test('answers of 40 MB that clients do not read take little more memory than the gateway says', async () => {
  await service.api('POST', '/collections', { name: 'fat', dimensions: 2 });
  for (let from = 0; from < RECORDS; from += 100) {
    const records = Array.from({ length: 100 }, (_, at) => ({
      id: `r${from + at}`,
      values: [1, at],
      metadata: { text: `${from + at}`.padEnd(METADATA_BYTES, 'x') },
    }));
    expect((await service.api('POST', '/collections/fat/upsert', { records })).status).toBe(200);
  }
  const before = await residentMiB();
  ask('/api/v1/collections/fat/query', JSON.stringify({ vector: [1, 1], topK: RECORDS }));
  let most = before;
  const end = performance.now() + SECONDS * 1_000;
  await until('the load has run', async () => {
    most = Math.max(most, await residentMiB());
    return performance.now() > end;
  });
  for (const socket of sockets) socket.destroy();
  let after = most;
  const isSmall = async () => {
    after = await residentMiB();
    return after - before < REMAINDER_MAX_MIB;
  };
  await until('the memory is given back', isSmall).catch(() => undefined);
  console.log(`${before} MiB before, ${most} at most, ${after} after the clients have left`);
  expect(most - before).toBeLessThan(GROWTH_MAX_MIB);
  expect(after - before).toBeLessThan(REMAINDER_MAX_MIB);
}, 300_000);
