import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { MemoryBudget } from '../../../../../lib/admission/memory-budget.ts';
import { LIMITS } from '../../../../../lib/limits.ts';
import { RequestContext } from '../../../../../services/gateway/request-context.ts';
import { bodyOf } from '../../../../../services/gateway/steps/read-body.ts';
import { RawConnection } from '../../../../support/raw-connection.ts';
import { until } from '../harness.ts';

const MIB = 1024 * 1024;
const BODY_MAX_BYTES = 64 * MIB;

/** The body read from each request, or the reason why it was not read. */
let read: Promise<Uint8Array>[];
let exchanges: RequestContext[];
let heldBytes = 0;
const budget = new MemoryBudget(
  { maxBytes: 256 * MIB, smallReserveBytes: 32 * MIB, smallMaxBytes: MIB },
  'Too many bodies.',
  {
    held: (bytes) => {
      heldBytes = bytes;
    },
    refused: () => undefined,
  },
);
const server = createServer((req: IncomingMessage, res: ServerResponse) => {
  const request = new RequestContext(req, res, 0, false, {
    config: { limits: LIMITS, publicUrl: null, tlsCert: null },
    dialects: [],
  });
  const body = bodyOf(request, BODY_MAX_BYTES, budget);
  exchanges.push(request);
  read.push(body);
  body.then(
    () => res.end(),
    () => res.destroy(),
  );
});
const port = () => (server.address() as AddressInfo).port;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  read = [];
  exchanges = [];
});

const heldByBuffers = () => {
  globalThis.gc?.();
  return process.memoryUsage().arrayBuffers;
};

test('announcing a large body takes no memory, only sending it does', async () => {
  const senders = 24;
  const before = heldByBuffers();
  const connections = Array.from({ length: senders }, () => new RawConnection(port()));
  for (const connection of connections)
    connection.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY_MAX_BYTES}\r\n\r\n${'x'.repeat(1_000)}`);
  await until(() => heldBytes === senders * 1_000);
  expect(heldByBuffers() - before).toBeLessThan(senders * MIB);
  for (const connection of connections) connection.destroy();
  await Promise.allSettled(read);
  expect(heldBytes).toBe(0);
});

test.each([
  ['declared', 0],
  ['declared', 1],
  ['declared', 70_000],
  ['declared', 3 * MIB + 17],
  ['chunked', 0],
  ['chunked', 70_000],
  ['chunked', 3 * MIB + 17],
])('reads a %s body of %i bytes as it was sent', async (how, length) => {
  const sent = randomBytes(length);
  const body = how === 'chunked' ? new Blob([sent]).stream() : sent;
  await fetch(`http://127.0.0.1:${port()}`, { method: 'POST', body, duplex: 'half' } as RequestInit);
  const received = await read[0];
  expect(Buffer.compare(received, sent)).toBe(0);
  expect(heldBytes).toBe(length);
  exchanges[0]!.release();
  expect(heldBytes).toBe(0);
});
