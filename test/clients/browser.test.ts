/** `@provec/client` in a real browser, unbundled, on a page of another origin. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';

const ROOT = join(import.meta.dirname, '../..');
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' };
const BROWSER = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'];
const run = promisify(execFile);

const page = (url: string) => `<!doctype html>
<script type="importmap">{"imports": {
  "@provec/client": "/client/dist/index.js",
  "@noble/hashes/": "/node_modules/@noble/hashes/"}}</script>
<script type="module">
  import { NotFoundError, Provec, verifyExport, verifyProof } from '@provec/client';
  let outcome;
  try {
    const provec = new Provec({ url: '${url}', apiKey: '${TEST_KEY}' });
    await provec.createCollection({ name: 'notes', dimensions: 2 });
    const notes = provec.collection('notes');
    const record = { id: 'ü/🧭', values: [1, 2], metadata: { text: 'hello' } };
    const { merkleRoot } = await notes.upsert({ records: [record] });
    const { matches } = await notes.query({ vector: Float32Array.of(1, 2), topK: 1 });
    const proven = verifyProof(merkleRoot, await notes.proof({ id: matches[0].id }), record);
    const whole = await new Response((await notes.export()).bytes()).blob();
    await provec.createCollection({ name: 'copy', dimensions: 2 });
    const copied = await provec.collection('copy').import(whole);
    const verified = await verifyExport((await provec.collection('copy').export()).lines());
    const missing = await provec.collection('absent').describe().catch((error) => error instanceof NotFoundError);
    outcome = [proven, copied.merkleRoot === verified.merkleRoot, missing].join();
  } catch (error) {
    outcome = String(error);
  }
  await fetch('/outcome', { method: 'POST', body: outcome });
</script>`;

let service: ServiceProcess;
let server: Server;
let profile: string;
const outcome = Promise.withResolvers<string>();
beforeAll(async () => {
  service = await startProcess({ PROVEC_CORS_ORIGINS: '*', PROVEC_LEDGER: 'off' });
  profile = await mkdtemp(join(tmpdir(), 'provec-browser-'));
  await run('npm', ['run', '--silent', 'prepare'], { cwd: join(ROOT, 'client') });
  server = createServer(async (request, response) => {
    const path = new URL(request.url!, 'http://page').pathname;
    if (path === '/outcome') outcome.resolve(await text(request));
    const file = path === '/' ? page(service.url) : await readFile(join(ROOT, path), 'utf8').catch(() => null);
    response.writeHead(file === null ? 404 : 200, { 'content-type': TYPES[extname(path)] ?? 'text/html' }).end(file);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await service.dispose();
  await rm(profile, { recursive: true, force: true });
});

test('writes, finds, proves, exports and imports, and has the right error classes', async () => {
  const { port } = server.address() as AddressInfo;
  const browser = spawn('chromium', [...BROWSER, `--user-data-dir=${profile}`, `http://127.0.0.1:${port}/`], {
    stdio: 'ignore',
  });
  const ended = once(browser, 'exit');
  try {
    const [first] = await Promise.race([outcome.promise.then((one) => [one]), ended]);
    expect(first).toBe('present,true,true');
  } finally {
    browser.kill();
    await ended;
  }
});
