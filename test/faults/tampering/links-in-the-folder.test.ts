/**
 * An attacker who can write only to the data folder replaces files and folders there with symbolic
 * links, so that the service would overwrite or remove what the links point to.
 */
import { mkdtempSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { startService, type TestService } from '../../support/service.ts';
import { TEST_KEYS } from '../../support/store-keys.ts';
import { until } from '../../support/until.ts';

const PRECIOUS = 'precious '.repeat(20);
const COLLECTION = '00000000-0000-4000-8000-000000000001';
const SHARD = `${COLLECTION}.0`;

/** Link targets that must stay unchanged: files, and folders with the names of checkpoints. */
class Elsewhere {
  readonly folder = mkdtempSync(join(tmpdir(), 'provec-elsewhere-'));
  readonly file = join(this.folder, 'file');

  async make(): Promise<void> {
    await writeFile(this.file, PRECIOUS);
    for (const name of ['0', '7', 'unsound-8', 'unsound-9']) {
      await mkdir(join(this.folder, name));
      await writeFile(join(this.folder, name, 'manifest.json'), PRECIOUS);
    }
  }

  async expectUntouched(): Promise<void> {
    expect((await readdir(this.folder, { recursive: true })).sort()).toEqual(
      [...['0', '7', 'unsound-8', 'unsound-9'].flatMap((name) => [name, join(name, 'manifest.json')]), 'file'].sort(),
    );
    expect(await readFile(this.file, 'utf8')).toBe(PRECIOUS);
  }
}

describe('a running service', () => {
  const elsewhere = new Elsewhere();
  let service: TestService;
  const inFolder = (path: string) => join(service.dataDir, path);
  const create = (name: string) => service.api('POST', '/collections', { name, dimensions: 2 });
  const upsert = (name: string) =>
    service.api('POST', `/collections/${name}/upsert`, { records: [{ id: 'a', values: [1, 0] }] });

  beforeAll(async () => {
    await elsewhere.make();
    service = await startService({ PROVEC_LOG_LEVEL: 'silent' });
    await create('one');
    await upsert('one');
  });
  afterAll(async () => {
    await service.stop();
    await rm(elsewhere.folder, { recursive: true });
  });

  test('a link at open-shards.json.new: its target is not written', async () => {
    await symlink(elsewhere.file, inFolder('open-shards.json.new'));
    await create('two');
    await upsert('two');
    const listed = async () => JSON.parse(await readFile(inFolder('open-shards.json'), 'utf8').catch(() => '[]'));
    await until('both are listed', async () => (await listed()).length === 2);
    expect((await lstat(inFolder('open-shards.json'))).isSymbolicLink()).toBe(false);
    await elsewhere.expectUntouched();
  });

  describe('while it is stopped', () => {
    beforeAll(async () => {
      await service.provec.stop();
    });

    test.each([
      'open-shards.json.new',
      'log.db-mark',
      'log.db-wal',
      'leases.db',
      'provec.json',
      'ledger/port',
      'ledger/process.json',
      'ledger/journal.ndjson.new',
    ])('a file link at %s: the start is refused, and names it', (path) => expectRefused(path, elsewhere.file));

    test.each(['checkpoints', `checkpoints/${COLLECTION}`, `checkpoints/${COLLECTION}/0`, 'ledger', 'nodes'])(
      'a folder link at %s: the start is refused, and names it',
      (path) => expectRefused(path, elsewhere.folder),
    );

    async function expectRefused(path: string, to: string): Promise<void> {
      const at = inFolder(path);
      await mkdir(dirname(at), { recursive: true });
      await rename(at, `${at}.kept`).catch(() => undefined);
      await symlink(to, at);
      await expect(service.restart()).rejects.toThrow(new RegExp(`^The data directory has a symbolic link at ${at}`));
      await rm(at);
      await rename(`${at}.kept`, at).catch(() => undefined);
      await elsewhere.expectUntouched();
    }

    test.each(['secret', 'ledger-keypair.json'])('%s may be elsewhere', async (name) => {
      const kept = `${service.dataDir}-${name}`;
      await rename(inFolder(name), kept);
      await symlink(kept, inFolder(name));
      await service.restart();
      expect(await upsert('one')).toMatchObject({ status: 200 });
      await service.provec.stop();
      await rm(inFolder(name));
      await rename(kept, inFolder(name));
    });
  });
});

describe('the checkpoint folder, while the store is open', () => {
  test.each([
    ['all', ''],
    ['a collection', COLLECTION],
    ['a shard', `${COLLECTION}/0`],
    ['what is staged', 'staging'],
  ])('of %s is replaced by a link: nothing is written or removed at its target', async (_, path) => {
    const elsewhere = new Elsewhere();
    await elsewhere.make();
    const folder = mkdtempSync(join(tmpdir(), 'provec-store-'));
    const told: unknown[] = [];
    const log = { error: (...what: unknown[]) => void told.push(what) };
    const { checkpoints, dropCollectionData, close } = await openSqliteStore(folder, { keys: TEST_KEYS, log });
    const staged = await checkpoints.stage(SHARD);
    await writeFile(join(staged, 'file'), 'bytes');
    await checkpoints.put(SHARD, 3, staged);
    const late = await checkpoints.stage(SHARD);
    const at = join(folder, 'checkpoints', path);
    await rename(at, join(folder, 'kept'));
    await symlink(elsewhere.folder, at);

    expect(await checkpoints.list(SHARD)).toEqual([]);
    expect(await checkpoints.fetch(SHARD, 7)).toBeNull();
    await checkpoints.prune(SHARD, 9);
    await expect(checkpoints.put(SHARD, 9, late)).rejects.toMatchObject({ kind: 'damaged' });
    await expect(checkpoints.stage(SHARD)).rejects.toMatchObject({ kind: 'damaged' });
    await dropCollectionData(COLLECTION).catch(() => undefined);
    await elsewhere.expectUntouched();
    expect(JSON.stringify(told)).toContain(JSON.stringify(at));

    await close();
    for (const each of [folder, elsewhere.folder]) await rm(each, { recursive: true });
  });
});
