/** `@provec/client` in a real browser, unbundled, on a page of another origin. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';

const ROOT = join(import.meta.dirname, '../..');
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' };
const BROWSER = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--dump-dom'];
const run = promisify(execFile);

const page = (url: string) => `<!doctype html><title>running</title>
<script type="importmap">{"imports": {
  "@provec/client": "/client/dist/index.js",
  "@noble/hashes/": "/node_modules/@noble/hashes/"}}</script>
<script type="module">
  import { NotFoundError, Provec, verifyExport, verifyProof } from '@provec/client';
  try {
    const provec = new Provec({ url: '${url}', apiKey: '${TEST_KEY}' });
    await provec.createCollection({ name: 'notes', dimensions: 2 });
    const notes = provec.collection('notes');
    const record = { id: 'ü/🧭', values: [1, 2], metadata: { text: 'hello' } };
    const { merkleRoot } = await notes.upsert({ records: [record] });
    const { matches } = await notes.query({ vector: Float32Array.of(1, 2), topK: 1 });
    const outcome = verifyProof(merkleRoot, await notes.proof({ id: matches[0].id }), record);
    const whole = await new Response((await notes.export()).bytes()).blob();
    await provec.createCollection({ name: 'copy', dimensions: 2 });
    const copied = await provec.collection('copy').import(whole);
    const verified = await verifyExport((await provec.collection('copy').export()).lines());
    const missing = await provec.collection('absent').describe().catch((error) => error instanceof NotFoundError);
    document.title = [outcome, copied.merkleRoot === verified.merkleRoot, missing].join();
  } catch (error) {
    document.title = String(error);
  }
</script>`;

let service: ServiceProcess;
let server: Server;
let profile: string;
beforeAll(async () => {
  service = await startProcess({ PROVEC_CORS_ORIGINS: '*', PROVEC_LEDGER: 'off' });
  profile = await mkdtemp(join(tmpdir(), 'provec-browser-'));
  await run('npm', ['run', '--silent', 'prepare'], { cwd: join(ROOT, 'client') });
  server = createServer(async ({ url }, response) => {
    const path = new URL(url!, 'http://page').pathname;
    const text = path === '/' ? page(service.url) : await readFile(join(ROOT, path), 'utf8').catch(() => null);
    response.writeHead(text === null ? 404 : 200, { 'content-type': TYPES[extname(path)] ?? 'text/html' }).end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await service.dispose();
  await rm(profile, { recursive: true, force: true });
});

test('writes, finds, proves, exports and imports, and knows its errors', async () => {
  const { port } = server.address() as AddressInfo;
  const args = [...BROWSER, `--user-data-dir=${profile}`, '--virtual-time-budget=20000', `http://127.0.0.1:${port}/`];
  const { stdout } = await run('chromium', args, { timeout: 60_000 });
  expect(/<title>(.*?)<\/title>/.exec(stdout)?.[1]).toBe('present,true,true');
});
