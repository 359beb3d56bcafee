/** Request heads: which ones are read, from which clients, and how much of them at once. */
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { pineconeApi } from '../../support/pinecone-api.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';
import { until } from '../../support/until.ts';

let service: SharedService;
const sockets: Socket[] = [];
beforeAll(async () => {
  service = await shareService();
  const pinecone = pineconeApi(service.url, service.key);
  await pinecone('POST', '/indexes', { name: 'long', dimension: 1, metric: 'dotproduct' });
  await pinecone('POST', '/indexes/long/vectors/upsert', { vectors: ids(1_000).map((id) => ({ id, values: [1] })) });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const ids = (count: number, chars = 36) => Array.from({ length: count }, (_, at) => String(at).padStart(chars, 'x'));
const fetchPath = (names: string[]) => `/indexes/long/vectors/fetch?${names.map((id) => `ids=${id}`).join('&')}`;

test('fetches a thousand vectors by a path of 41 kB, and of nearly 1 MiB', async () => {
  const pinecone = pineconeApi(service.url, service.key);
  for (const path of [fetchPath(ids(1_000)), `${fetchPath(ids(1_000))}&x=${'y'.repeat(900_000)}`]) {
    const { status, body } = await pinecone<{ vectors: object }>('GET', path);
    expect([status, Object.keys(body.vectors).length]).toEqual([200, 1_000]);
  }
});

test('a client without a key is told so, whatever the path', async () => {
  expect((await pineconeApi(service.url, 'pv_live_none')('GET', fetchPath(ids(1_000)))).status).toBe(401);
});

/**
 * Sends text on a new connection; returns everything received until it ends, possibly by a reset.
 */
function exchange(text: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  let answer = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    answer += part;
  });
  socket.write(text);
  return new Promise((resolve) => socket.on('error', () => {}).once('close', () => resolve(answer)));
}

const HOST = 'Host: provec\r\n';
test.each([
  ['a long path of /api/v1', `GET /api/v1/collections?x=${'y'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`],
  ['large headers below /api/v1', `GET /api/v1/collections HTTP/1.1\r\n${HOST}X: ${'y'.repeat(17_000)}\r\n\r\n`],
  ['large headers below /pinecone', `GET /pinecone/indexes HTTP/1.1\r\n${HOST}X: ${'y'.repeat(17_000)}\r\n\r\n`],
  ['many headers below /pinecone', `GET /pinecone/indexes HTTP/1.1\r\n${HOST}${'a:\r\n'.repeat(100_000)}\r\n`],
  ['the name of a header', `GET /api/v1/collections HTTP/1.1\r\n${HOST}${'y'.repeat(17_000)}: 1\r\n\r\n`],
  ['a path of more than 1 MiB', `GET /pinecone/indexes?${'y'.repeat(1_100_000)} HTTP/1.1\r\n${HOST}\r\n`],
])('refuses %s, and closes the connection', async (_, text) => {
  const answer = await exchange(text);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain("The request's headers are larger than 16384 bytes.");
});

test('reads only a bounded amount of endless heads at once, and serves others meanwhile', async () => {
  const { hostname, port } = new URL(service.url);
  let refused = 0;
  for (let at = 0; at < 48; at++) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    let answer = '';
    socket.setEncoding('utf8').on('error', () => {});
    socket.on('data', (part: string) => {
      answer += part;
      if (answer.startsWith('HTTP/1.1 503') && answer.includes('long paths')) refused++;
      if (answer.length > 0) answer = ' ';
    });
    socket.write(`GET /pinecone/indexes?${'y'.repeat(1_000_000)}`);
  }
  await until('some are refused', () => refused >= 12);
  expect((await service.api('GET', '/collections')).status).toBe(200);
  // Requests with small heads are served meanwhile.
  const pinecone = pineconeApi(service.url, service.key);
  expect((await pinecone('GET', '/indexes/long')).status).toBe(200);
});
