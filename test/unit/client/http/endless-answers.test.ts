import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from '@jest/globals';
import { Provec, ServerError, UnavailableError } from '../../../../client/index.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/**
 * Starts a service that responds with that status, and a client; resolves when the client has
 * disconnected.
 */
async function answeredBy(status: number, answer: (response: ServerResponse) => void, headers = {}) {
  const left = Promise.withResolvers<void>();
  server = createServer((_, response) => {
    response.on('close', left.resolve);
    answer(response.writeHead(status, headers));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { provec: new Provec({ url, apiKey: 'k', maxAnswerBytes: 100_000, maxRetries: 0 }), left: left.promise };
}

/** Writes forever, as fast as the client reads. */
function withoutEnd(response: ServerResponse): void {
  while (response.write(' '.repeat(16_384)));
  response.once('drain', () => withoutEnd(response));
}

test('the client abandons an endless answer', async () => {
  const { provec, left } = await answeredBy(200, withoutEnd);
  await expect(provec.getUsage()).rejects.toThrow(ServerError);
  await expect(provec.getUsage()).rejects.toThrow(/more than 100000 bytes.*maxAnswerBytes/);
  await left;
});

test('the client inflates no more of an answer than its maximum', async () => {
  const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024, ' '));
  const { provec, left } = await answeredBy(200, (response) => response.end(bomb), { 'content-encoding': 'gzip' });
  await expect(provec.getUsage()).rejects.toThrow(/more than 100000 bytes/);
  await left;
});

test('an endless error keeps its status', async () => {
  const { provec, left } = await answeredBy(503, withoutEnd);
  await expect(provec.getUsage()).rejects.toThrow(UnavailableError);
  await left;
});

test('accepts an answer of exactly the maximum', async () => {
  const text = '{"count":1}'.padEnd(100_000);
  const { provec } = await answeredBy(200, (response) => response.end(text));
  expect(await provec.collection('notes').count()).toBe(1);
});

test('an export may have any size, but no endless line', async () => {
  const { provec, left } = await answeredBy(200, withoutEnd, { 'content-type': 'application/x-ndjson' });
  const read = async () => {
    for await (const _ of await provec.collection('notes').export());
  };
  await expect(read()).rejects.toThrow(/line of more than 4194304 characters/);
  await left;
});

test('an endless answer of another type is abandoned before it is read', async () => {
  const { provec, left } = await answeredBy(200, withoutEnd, { 'content-type': 'text/html' });
  await expect(provec.collection('notes').export()).rejects.toThrow(/has the type application\/x-ndjson/);
  await left;
});
