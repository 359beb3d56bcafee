import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { BackupStatus } from '../../contracts/actions/cluster.ts';
import { OPERATOR_TRAIL } from '../../store/audit.ts';
import { runCommand } from '../support/command-in-process.ts';
import { runProvec } from '../support/repl-run.ts';
import { startService, type TestService } from '../support/service.ts';
import { ADMIN_TOKEN, operatorApi, TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const RECORDS_PER_WRITE = 20;
const SHARDS = { one: 1, four: 4, sixteen: 16 };
type Name = keyof typeof SHARDS;
const NAMES = Object.keys(SHARDS) as Name[];

let service: TestService;
let folder = '';
beforeAll(async () => {
  service = await startService();
  for (const name of NAMES)
    await service.api('POST', '/collections', { name, dimensions: 2, shards: SHARDS[name], metric: 'euclidean' });
});
afterAll(() => service.stop());

const provec = (...words: string[]) => runProvec({ PROVEC_DATA_DIR: service.dataDir }, ...words);

/** Writes consecutive records until stopped. */
class Writer {
  readonly #name: Name;
  readonly #ended: Promise<void>;
  acknowledged = 0;
  asked = 0;
  #isOver = false;

  constructor(name: Name) {
    this.#name = name;
    this.#ended = this.#run();
  }

  stop(): Promise<void> {
    this.#isOver = true;
    return this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const at = this.asked;
      const ids = Array.from({ length: RECORDS_PER_WRITE }, (_, row) => String(at + row).padStart(8, '0'));
      this.asked += RECORDS_PER_WRITE;
      const records = ids.map((id) => ({ id, values: [Number(id), 1], metadata: { id } }));
      const { status } = await service.api('POST', `/collections/${this.#name}/upsert`, { records });
      expect(status).toBe(200);
      this.acknowledged = this.asked;
    }
  }
}

async function idsOf(name: Name): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { body } = await service.api<{ records: { id: string }[]; nextCursor?: string }>(
      'POST',
      `/collections/${name}/list`,
      { limit: 1_000, cursor },
    );
    ids.push(...body.records.map(({ id }) => id));
    cursor = body.nextCursor;
    if (cursor === undefined) return ids;
  }
}

afterEach(() => rm(folder, { recursive: true, force: true }));

/** The write in flight may be committed in some shards and missing in others. */
function expectWholeWrites(name: Name, ids: string[]): void {
  const idAt = (at: number) => String(at).padStart(8, '0');
  const firstMissing = ids.findIndex((id, at) => id !== idAt(at));
  const inOrder = firstMissing < 0 ? ids.length : firstMissing;
  const whole = inOrder - (inOrder % RECORDS_PER_WRITE);
  const underWay = ids.slice(whole);
  if (SHARDS[name] === 1) expect(underWay).toEqual([]);
  expect(underWay.filter((id) => id < idAt(whole) || id >= idAt(whole + RECORDS_PER_WRITE))).toEqual([]);
}

test('a backup under load shows one moment: a start on it has each write of a shard or none, and every verify matches', async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-backup-'));
  const target = join(folder, 'of', 'today');
  const writers = new Map(NAMES.map((name) => [name, new Writer(name)]));
  await until('there is something to copy', () =>
    [...writers.values()].every(({ acknowledged }) => acknowledged > 200),
  );
  const before = new Map(NAMES.map((name) => [name, writers.get(name)!.acknowledged]));
  const { code, stdout, stderr } = await provec('backup', target);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/ holds the data as it was at 20\d\d-\S+Z \(\d+(\.\d+)? \w{2,3}\)\.\n/);
  expect(stdout).toContain(`\nTo start on it: PROVEC_DATA_DIR=${target} npm start`);
  expect(stdout).toContain(
    'It holds the ledger keypair and the secret: keep the copy as safe as those. --without-secrets leaves the ledger keypair and the secret out of a backup; ',
  );
  const after = new Map(NAMES.map((name) => [name, writers.get(name)!.asked]));
  for (const writer of writers.values()) await writer.stop();
  for (const entry of await readdir(target, { withFileTypes: true, recursive: true })) {
    const { mode } = await stat(join(entry.parentPath, entry.name));
    expect([entry.name, mode & 0o777]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
  }

  await service.restart({ PROVEC_DATA_DIR: target });
  for (const name of NAMES) {
    const ids = await idsOf(name);
    expectWholeWrites(name, ids);
    expect(ids.length).toBeGreaterThanOrEqual(before.get(name)!);
    expect(ids.length).toBeLessThanOrEqual(after.get(name)!);
    const verdict = async () => (await service.api('GET', `/collections/${name}/verify`)).body;
    await until(`${name} is anchored`, async () => (await verdict()).state !== 'pending');
    expect(await verdict()).toMatchObject({ state: 'match', vectorCount: ids.length });
  }
  // The restored copy continues to work.
  const records = [{ id: 'later', values: [1, 1] }];
  expect((await service.api('POST', '/collections/four/upsert', { records })).status).toBe(200);
  await service.restart({ PROVEC_DATA_DIR: service.dataDir });
});

test('the audit trail of a copy says that it was restored, once, and that of the original does not', async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-backup-'));
  const target = join(folder, 'copy');
  expect((await provec('backup', target)).code).toBe(0);
  const trail = async () =>
    (await service.provec.store.audit.page(OPERATOR_TRAIL, 0, 100)).items.map(({ entry }) => entry!);
  const begun = (await trail()).findLast(({ phase }) => phase === 'begin')!;
  expect(begun).toMatchObject({ action: 'backup.create', target, actor: { type: 'console' } });
  expect((await trail()).at(-1)).toMatchObject({ id: begun.id, phase: 'end', outcome: 'done' });

  await service.restart({ PROVEC_DATA_DIR: target });
  await service.restart({ PROVEC_DATA_DIR: target });
  const restored = (await trail()).slice(-2);
  expect(restored).toMatchObject([
    { id: begun.id, phase: 'begin' },
    { action: 'backup.restore', after: { backupId: begun.id, backupAt: begun.at } },
  ]);
  await service.restart({ PROVEC_DATA_DIR: service.dataDir });
  expect((await trail()).filter(({ action }) => action === 'backup.restore')).toEqual([]);
});

test('an operator makes backups over the API, one at a time, in the folder for backups', async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-backup-'));
  const environment = { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_BACKUP_DIR: folder };
  await service.restart(environment);
  const operator = operatorApi(service);
  const start = (name: string) => operator<{ code: string }>('POST', '/admin/backups', { name });
  const list = async () => (await operator<{ backups: BackupStatus[] }>('GET', '/admin/backups')).body.backups;
  const ended = () =>
    until('the backup has ended', async () => (await list()).every(({ state }) => state !== 'running'));

  const both = await Promise.all([start('first'), start('second')]);
  expect(both.map(({ status }) => status).sort()).toEqual([202, 400]);
  await ended();
  const [made] = await list();
  expect(made).toMatchObject({ state: 'done', folder: join(folder, made!.name), error: null });
  expect(made!.bytes).toBeGreaterThan(10_000);
  expect(await start(made!.name)).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } });
  for (const name of ['../x', '.hidden', 'a/b', '', 'x'.repeat(65)])
    expect(await start(name)).toMatchObject({ status: 400, body: { details: [{ path: 'name' }] } });

  await mkdir(join(folder, 'cut'));
  await writeFile(join(folder, 'cut', 'backup-under-way'), '');
  await mkdir(join(folder, 'other'));
  expect((await list()).map(({ name, state }) => [name, state])).toEqual([
    [made!.name, 'done'],
    ['cut', 'interrupted'],
  ]);
  const { items } = await service.provec.store.audit.page(OPERATOR_TRAIL, 0, 100);
  expect(items.map(({ entry }) => entry)).toContainEqual(
    expect.objectContaining({ action: 'backup.create', target: made!.folder, actor: { type: 'operator' } }),
  );

  await service.restart({ ...environment, PROVEC_DATA_DIR: made!.folder });
  const verdict = async () => (await service.api('GET', '/collections/one/verify')).body;
  await until('it is anchored', async () => (await verdict()).state !== 'pending');
  expect(await verdict()).toMatchObject({ state: 'match' });
  await service.restart({ ...environment, PROVEC_DATA_DIR: service.dataDir });

  await rm(folder, { recursive: true });
  await writeFile(folder, 'no folder');
  expect(await start('third')).toMatchObject({ status: 202, body: { backup: { state: 'running', name: 'third' } } });
  await ended();
  expect(await list()).toMatchObject([{ name: 'third', state: 'failed', error: expect.stringMatching(/ENOTDIR/) }]);
});

test('provec backup and provec restore: a start on the restored folder has what was backed up', async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-backup-'));
  await service.restart({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_BACKUP_DIR: folder });
  const run = (...args: string[]) =>
    runCommand(args, { PROVEC_URL: service.url, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_KEY: TEST_KEY });
  const copy = join(folder, 'monday');
  const rootOf = async () =>
    (await service.api<{ collection: { merkleRoot: string } }>('GET', '/collections/one')).body.collection.merkleRoot;
  const root = await rootOf();
  expect(await run('backup', 'start', 'monday')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`is complete: `),
  });
  expect(await run('backup', 'start', 'monday')).toMatchObject({ code: 3, stderr: expect.stringContaining(copy) });
  expect((await run('backup', 'list')).stdout).toMatch(/^monday +done /m);

  const [target, cut] = [join(folder, 'data'), join(folder, 'cut')];
  await mkdir(cut);
  expect(await run('restore', cut, target)).toMatchObject({ code: 2, stderr: expect.stringContaining('not a backup') });
  await writeFile(join(cut, 'backup-under-way'), '');
  expect(await run('restore', cut, target)).toMatchObject({ code: 2, stderr: expect.stringContaining('not complete') });
  expect(await run('restore', copy, target)).toEqual({
    code: 0,
    stdout: `Restored to ${target}.\nStart it with PROVEC_DATA_DIR=${target} provec start\n`,
    stderr: '',
  });
  expect(await run('restore', copy, target)).toMatchObject({ code: 2, stderr: expect.stringContaining('not empty') });
  await service.restart({ PROVEC_DATA_DIR: target });
  expect(await rootOf()).toBe(root);
  await service.restart({ PROVEC_DATA_DIR: service.dataDir });
});

test('an invalid target for a backup is refused, and nothing is left there', async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-backup-'));
  await writeFile(join(folder, 'mine'), '');
  expect(await provec('backup', folder)).toEqual({
    code: 1,
    stdout: '',
    stderr: `The backup failed: ${folder} is not empty.\n`,
  });
  const within = join(service.dataDir, 'copy');
  expect((await provec('backup', within)).stderr).toContain('must not lie in each other');
  await mkdir(join(folder, 'closed'));
  const inFile = join(folder, 'mine', 'copy');
  expect((await provec('backup', inFile)).stderr).toMatch(/^The backup failed: .*ENOTDIR/);
  expect((await provec('backup', '/proc/provec/backup')).stderr).toMatch(/^The backup failed: .*ENOENT/);
  expect(await readdir(folder)).toEqual(['closed', 'mine']);
});

test('a backup without secrets has neither secret nor keypair, and a start on it asks for them', async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-backup-'));
  const target = join(folder, 'copy');
  const { code, stdout } = await provec('backup', target, '--without-secrets');
  expect(code).toBe(0);
  const [keypair, secret] = ['ledger-keypair.json', 'secret'].map((name) => join(service.dataDir, name));
  expect(stdout).toContain(`It does not hold the ledger keypair (${keypair}), or the secret (${secret}).`);
  expect(stdout).not.toContain('It holds');
  expect(stdout).toContain(
    `\nTo start on it, first put the ledger keypair and the secret into it: PROVEC_DATA_DIR=${target} npm start`,
  );
  const names = await readdir(target, { recursive: true });
  expect(names).toContain('log.db');
  expect(names.filter((name) => /secret|keypair/.test(name))).toEqual([]);
  expect((await provec('nodes', '--without-secrets')).stderr).toBe('Unknown option --without-secrets.\n');
});

test('the console of a single-process service', async () => {
  // Opens the shard.
  await service.api('POST', '/collections/one/count', {});
  const [nodes, shards, ledger] = await Promise.all([
    provec('nodes'),
    provec('shards'),
    provec('ledger', 'default/one'),
  ]);
  const [titles = '', row = ''] = nodes.stdout.split('\n').filter((line) => /^Shard| serving /.test(line));
  expect(titles.trim().split(/ {2,}/)).toEqual([
    'Shard node',
    'State',
    'Shards',
    'Opening',
    'Copies',
    'Memory',
    'Limit',
    'Queued',
    'Version',
    'Uptime',
  ]);
  expect(row).toMatch(/^\S+ +serving +\d/);
  expect(row).not.toMatch(/ - /);
  expect(shards.stdout).toMatch(/^\S+\.0 +one +\S+ +open /m);
  expect(ledger.stdout).toMatch(/^Ledger +Solana, embedded$/m);
  expect(ledger.stdout).toMatch(/^Authority +[1-9A-HJ-NP-Za-km-z]{32,44}$/m);
});

test('an interrupted copy is not mistaken for a store', async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-backup-'));
  const target = join(folder, 'copy');
  expect((await provec('backup', target)).code).toBe(0);
  await rm(join(target, 'provec.json'));
  await service.provec.stop();
  await expect(service.restart({ PROVEC_DATA_DIR: target })).rejects.toThrow(
    'provec.json in the data directory is missing',
  );
});
