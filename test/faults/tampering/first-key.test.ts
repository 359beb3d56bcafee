import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../../support/api-client.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { TEST_KEY } from '../../support/tenant.ts';

const TOLD = 'Provec already made its first key and makes no other one';
const NO_KEY = 'no account of the store has a key that is valid';
/** Files of the store, without the secret next to them. */
const STORE = /^(log|records|leases)\.db|^provec\.json$|^checkpoints$/;

let service: ServiceProcess;

const edit = (sql: string) => inStoreFile(service.dataDir, 'log.db', (file) => file.exec(sql));
const listed = () => service.api('GET', '/collections');

/** What a start prints on stdout after `tamper`. */
async function startedAfter(tamper: () => unknown, environment: Record<string, string> = {}): Promise<string> {
  await service.kill('SIGTERM');
  await tamper();
  await service.restart(environment);
  return service.stdout;
}

async function unmark(): Promise<void> {
  const path = join(service.dataDir, 'provec.json');
  const { firstKey: _, ...mark } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  await writeFile(path, JSON.stringify(mark));
}

async function moveStore(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) if (STORE.test(name)) await rename(join(from, name), join(to, name));
}

beforeAll(async () => {
  service = await startProcess({ PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'warn', PROVEC_BOOTSTRAP_PLAN: 'pro' });
  await service.api('POST', '/collections', { name: 'kept', dimensions: 2 });
  const records = [{ id: 'a', values: [1, 0] }];
  expect((await service.api('POST', '/collections/kept/upsert', { records })).status).toBe(200);
  const { key } = (await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'second' })).body;
  const { keys } = (await service.api<{ keys: { id: string; name: string }[] }>('GET', '/keys')).body;
  const first = keys.find(({ name }) => name === 'first key')!;
  expect((await apiClient(service.url, key.secret)('DELETE', `/keys/${first.id}`)).status).toBe(200);
  expect((await listed()).status).toBe(401);
});
afterAll(() => service.dispose());

test('a revoked key is not created again after the keys were removed, and the operator is told', async () => {
  expect(await startedAfter(() => edit('DELETE FROM keys'))).toContain('PROVEC_BOOTSTRAP_KEY is ignored');
  expect(service.stderr).toContain(NO_KEY);
  expect((await listed()).status).toBe(401);
});

test('nor is another one printed after the accounts were removed, and the operator is told', async () => {
  const stdout = await startedAfter(() => edit('DELETE FROM accounts'), { PROVEC_BOOTSTRAP_KEY: '' });
  expect(stdout).not.toContain('pv_live_');
  expect(service.stderr).toContain(TOLD);
});

test('nor after the mark was removed, while there is any trace of earlier use', async () => {
  const environment = { PROVEC_BOOTSTRAP_KEY: TEST_KEY };
  const stdout = await startedAfter(async () => {
    await unmark();
    edit('UPDATE collections SET dropped = 1; DELETE FROM sqlite_sequence');
  }, environment);
  expect(stdout).toContain('PROVEC_BOOTSTRAP_KEY is ignored');
  expect(service.stderr).toContain(TOLD);
  expect((await listed()).status).toBe(401);
});

test("if the entire store was removed, the start's new key opens nothing of it later", async () => {
  const aside = join(service.dataDir, 'aside');
  await startedAfter(() => moveStore(service.dataDir, aside));
  expect(await listed()).toMatchObject({ status: 200, body: { collections: [] } });
  const made = inStoreFile(service.dataDir, 'log.db', (file) => ({
    account: file.prepare('SELECT id, name, plan, createdAt, seal FROM accounts').get()!,
    key: file.prepare('SELECT * FROM keys').get()!,
  }));
  await startedAfter(async () => {
    await moveStore(service.dataDir, join(service.dataDir, 'made'));
    await moveStore(aside, service.dataDir);
    inStoreFile(service.dataDir, 'log.db', (file) => {
      file.exec('UPDATE collections SET dropped = 0');
      file
        .prepare('INSERT INTO accounts (id, name, plan, createdAt, seal) VALUES (?, ?, ?, ?, ?)')
        .run(...Object.values(made.account));
      file.prepare('INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(...Object.values(made.key));
    });
  });
  expect(await listed()).toMatchObject({ status: 200, body: { collections: [] } });
  expect((await service.api('GET', '/collections/kept')).status).toBe(404);
});
