/**
 * Valid and invalid requests that Schemathesis generates from our OpenAPI documents. None may get a
 * 5xx or end the connection.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ApiDocument } from '../support/api-document.ts';
import { seed } from '../support/seed.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, createTenant, TEST_KEY } from '../support/tenant.ts';

const PACKAGE = 'schemathesis==4.32.5';
const INSTALL_TIMEOUT_MS = 240_000;
const RUN_TIMEOUT_MS = 240_000;
const EXAMPLES_MAX = 75;
/** Serializes an import body as JSON: a single line is a valid import. */
const HOOKS = 'import schemathesis\nschemathesis.serializer.alias("application/x-ndjson", "application/json")\n';
/** One dimension, so that most vectors fit the collection and ids repeat. */
const ONE_DIMENSION = { PROVEC_LIMITS: JSON.stringify({ dimensionsMax: 1 }) };
const TEXTS = ['a', 'some', '', '🧭', '__default__', '.', '..', '\u0000', '%', '$and', 'a.b'];

const run = promisify(execFile);

let folder: string;
let service: ServiceProcess;
/** Fixed parameters for routes that would delete what other requests need. */
let pinned: Record<string, string>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-schemathesis-'));
  await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_TIMEOUT_MS });
  await run(join(folder, 'bin', 'pip'), ['install', '-q', PACKAGE], { timeout: INSTALL_TIMEOUT_MS });
  await writeFile(join(folder, 'hooks.py'), HOOKS);
  service = await startProcess({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_ANCHOR_WAIT_MS: '0', ...ONE_DIMENSION });
  for (const name of ['some', 'other'])
    await service.api('POST', '/collections', { name, dimensions: 1, metric: 'dot' });
  const { body } = await service.api<{ key: { id: string } }>('POST', '/keys', { name: 'to revoke' });
  const [changed, deleted] = [await createTenant(service, 'free'), await createTenant(service, 'free')];
  pinned = {
    'DELETE /api/v1/collections/{name}': 'name = "other"',
    'DELETE /pinecone/indexes/{name}': 'name = "other"',
    'DELETE /api/v1/keys/{id}': `id = "${body.key.id}"`,
    'PATCH /api/v1/admin/accounts/{id}': `id = "${changed.account.id}"`,
    'DELETE /api/v1/admin/accounts/{id}': `id = "${deleted.account.id}"`,
  };
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await service?.dispose();
  await rm(folder, { recursive: true, force: true });
});

/** `credentials`: a configuration section, keyed by the document's security schemes. */
const settings = (document: ApiDocument, credentials: string): string => `
seed = ${seed}
workers = 1
continue-on-failure = true
warnings = false
request-timeout = 30.0
hooks = ${JSON.stringify(join(folder, 'hooks.py'))}
[parameters]
"path.name" = { dictionary = "names", probability = 0.95 }
[dictionaries]
names = { values = ["some"] }
texts = { values = ${JSON.stringify(TEXTS)} }
[generation]
max-examples = ${EXAMPLES_MAX}
database = "none"
dictionaries = { string = { dictionary = "texts", probability = 0.5 } }
[checks]
enabled = false
not_a_server_error = { enabled = true }
[phases]
stateful.enabled = false
${credentials}
${Object.entries(pinned)
  .filter(([name]) => document.operations.some(({ method, path }) => name === `${method} ${path}`))
  .map(([name, parameter]) => `[[operations]]\ninclude-name = "${name}"\nparameters = { ${parameter} }\n`)
  .join('')}`;

/** Schemathesis's findings as text; empty when there are none. */
async function found(url: string, credentials: string): Promise<string> {
  const document = new ApiDocument(await (await fetch(url)).json());
  const config = join(folder, 'schemathesis.toml');
  await writeFile(config, settings(document, credentials));
  const args = ['--no-color', '--config-file', config, 'run', url];
  const env = { ...process.env, HYPOTHESIS_STORAGE_DIRECTORY: join(folder, 'hypothesis') };
  try {
    const { stdout } = await run(join(folder, 'bin', 'st'), args, {
      cwd: folder,
      env,
      timeout: RUN_TIMEOUT_MS,
      maxBuffer: 2 ** 26,
    });
    return stdout.includes('No issues found') ? '' : stdout;
  } catch (error) {
    return `${(error as { stdout: string }).stdout}${(error as { stderr: string }).stderr}`;
  }
}

/** Operations that succeeded, as `POST /path`. */
async function carriedOut(): Promise<Set<string>> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const counted = text.matchAll(/^provec_http_requests_total\{route="(.+)",method="(\w+)",status="2\d\d"\} [1-9]/gm);
  return new Set([...counted].map(([, route, method]) => `${method} ${route}`));
}

test(
  '/api/v1 never answers with a 5xx',
  async () => {
    const credentials = `[auth.openapi]\napiKey = { bearer = "${TEST_KEY}" }\noperatorToken = { bearer = "${ADMIN_TOKEN}" }`;
    expect(await found(`${service.url}/openapi.json`, credentials)).toBe('');
    const one = '/api/v1/collections/{name}';
    const reached = ['upsert', 'import', 'query', 'list', 'update', 'delete'].map((name) => `POST ${one}/${name}`);
    expect([...(await carriedOut())]).toEqual(expect.arrayContaining([...reached, `GET ${one}/verify`]));
  },
  RUN_TIMEOUT_MS,
);

test(
  '/pinecone never answers with a 5xx',
  async () => {
    await service.api('POST', '/collections', { name: 'other', dimensions: 1 });
    expect(
      await found(`${service.url}/pinecone/openapi.json`, `[auth.openapi]\napiKey = { api_key = "${TEST_KEY}" }`),
    ).toBe('');
    const one = '/pinecone/indexes/{name}';
    const reached = ['query', 'vectors/upsert', 'vectors/update', 'vectors/delete'].map(
      (name) => `POST ${one}/${name}`,
    );
    expect([...(await carriedOut())]).toEqual(expect.arrayContaining(reached));
  },
  RUN_TIMEOUT_MS,
);

test('the service still serves, and logged no error', async () => {
  expect(await service.api('GET', '/collections/some/verify')).toMatchObject({ status: 200 });
  expect(service.stderr).toBe('');
});

test('it would find a 501', async () => {
  const operation = { responses: { 200: { description: 'Never.' } } };
  const document = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/x': { get: operation } } };
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'application/json');
    response.statusCode = url === '/openapi.json' ? 200 : 501;
    response.end(JSON.stringify(url === '/openapi.json' ? document : {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    expect(await found(`http://127.0.0.1:${port}/openapi.json`, '')).toMatch(/Server error/);
  } finally {
    server.close();
  }
});
