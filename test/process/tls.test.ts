/** HTTPS served by the gateway itself, with certificates of an authority of the tests. */
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readConfig } from '../../process/config.ts';
import { startService, type TestService } from '../support/service.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const GOLDEN = join(import.meta.dirname, '../golden/tls');
const AUTHORITY = await readFile(join(GOLDEN, 'authority.pem'));
const HEADER_MS = 1_000;

let folder: string;
let files: { cert: string; key: string };
let service: TestService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-tls-'));
  files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await use('first');
  service = await startService(
    { PROVEC_TLS_CERT: files.cert, PROVEC_TLS_KEY: files.key, PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'info' },
    { httpTimeouts: { headerMs: HEADER_MS, requestMs: 10_000 } },
  );
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function use(name: 'first' | 'second'): Promise<void> {
  await copyFile(join(GOLDEN, `${name}.pem`), files.cert);
  await copyFile(join(GOLDEN, `${name}-key.pem`), files.key);
}

const port = (): number => Number(new URL(service.url).port);

/** Opens a connection whose certificate the authority of the tests must have issued. */
async function secured(options: object = {}): Promise<TLSSocket> {
  const socket = connect({ port: port(), host: '127.0.0.1', ca: AUTHORITY, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

async function servedName(): Promise<string> {
  const socket = await secured();
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

/** Sends a request and returns status and body. */
async function api(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const call = request(`${service.url}${path}`, {
    method,
    ca: AUTHORITY,
    headers: { authorization: `Bearer ${TEST_KEY}`, 'api-key': TEST_KEY, 'content-type': 'application/json' },
  });
  call.end(body && JSON.stringify(body));
  const [response] = await once(call, 'response');
  return { status: response.statusCode, body: JSON.parse(await text(response)) };
}

test('the address says https, and requests are answered there', async () => {
  expect(service.url).toMatch(/^https:/);
  expect((await api('POST', '/api/v1/collections', { name: 'notes', dimensions: 2 })).status).toBe(201);
  const records = Array.from({ length: 1_000 }, (_, id) => ({ id: `r${id}`, values: [id, 1] }));
  expect((await api('POST', '/api/v1/collections/notes/upsert', { records })).body).toMatchObject({
    upsertedCount: 1_000,
  });
  const { body } = await api('POST', '/api/v1/collections/notes/query', { vector: [1, 1], topK: 1 });
  expect(body).toMatchObject({ matches: [{ id: 'r1' }] });
  expect((await api('GET', '/pinecone/indexes/notes')).body).toMatchObject({ host: expect.stringMatching(/^https:/) });
});

test('requests that arrive in one piece are answered in order, also after the client has ended its side', async () => {
  const socket = await secured({ allowHalfOpen: true });
  const head = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  socket.end(head('/livez') + head('/readyz') + head('/absent'));
  const answers = await text(socket);
  // Answers that take long are preceded by interim ones.
  expect(answers.match(/HTTP\/1\.1 [2-5]\d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 404']);
});

test('a version before TLS 1.2 is refused', async () => {
  const options = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
  await expect(secured(options)).rejects.toThrow(/alert|protocol/i);
});

test.each([
  ['a plain request', 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['bytes that are neither', '\x16\x03\x01\xff\xff'.repeat(100)],
  ['a client that sends nothing', ''],
])('%s is disconnected without an answer', async (_what, bytes) => {
  const socket = connectPlain(port(), '127.0.0.1').on('error', () => undefined);
  socket.write(bytes);
  const received: Buffer[] = [];
  socket.on('data', (piece) => received.push(piece));
  await once(socket, 'close');
  expect(Buffer.concat(received).toString('latin1')).not.toContain('HTTP/1.1');
  expect((await api('GET', '/livez')).status).toBe(200);
});

test('a renewed certificate is served without a restart, one that does not fit its key never', async () => {
  const kept = await secured();
  const livez = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n';
  kept.write(`${livez}\r\n`);
  expect(String((await once(kept, 'data'))[0])).toMatch(/^HTTP\/1\.1 200/);
  expect(await servedName()).toBe('first.provec.test');
  await copyFile(join(GOLDEN, 'second.pem'), files.cert);
  await until('the pair is refused', () => service.logged.includes('the one before it stays in use'));
  expect(await servedName()).toBe('first.provec.test');
  await use('second');
  await until('the new one is served', async () => (await servedName()) === 'second.provec.test');
  // Connections from before continue.
  kept.write(`${livez}Connection: close\r\n\r\n`);
  expect(await text(kept)).toMatch(/^HTTP\/1\.1 200/);
});

test.each([
  ['absent', /PROVEC_TLS_CERT must be a file that Provec can read: ENOENT/],
  ['not a certificate', /must be PEM files of a certificate and its private key/],
  ['of another key', /must be PEM files of a certificate and its private key/],
])('a start with a certificate that is %s is refused', async (what, message) => {
  const cert = join(folder, 'other.pem');
  if (what === 'not a certificate') await writeFile(cert, 'no PEM');
  if (what === 'of another key') await copyFile(join(GOLDEN, 'second.pem'), cert);
  const key = join(GOLDEN, 'first-key.pem');
  const environment = { PROVEC_TLS_CERT: cert, PROVEC_TLS_KEY: key, PROVEC_LEDGER: 'off' };
  await expect(startService(environment)).rejects.toThrow(message);
});

test.each(['PROVEC_TLS_CERT', 'PROVEC_TLS_KEY'])('%s alone is refused', (name) => {
  expect(() => readConfig({ [name]: '/etc/provec/one.pem' })).toThrow(
    'PROVEC_TLS_CERT and PROVEC_TLS_KEY must be set together.',
  );
});
