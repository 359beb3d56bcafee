import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseSecrets } from '../../lib/secret/secrets-text.ts';
import { readConfig } from '../../process/config.ts';
import { composeNodes } from './compose.ts';
import { inFolder, isRoot, makeSecrets } from './secrets-service.ts';

const NODE = 1000;
const STORE = 999;
/** Files that the service creates, and their owners. */
const OWNERS: Record<string, number> = {
  'provec/secret': NODE,
  'provec/mongo-url': NODE,
  'provec/redis-url': NODE,
  'stores/mongo-key': STORE,
  'stores/mongo-password': STORE,
  'stores/redis-password': STORE,
};
const FILES = Object.keys(OWNERS).sort();

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-secrets-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Existing files by name, without unfinished ones. */
async function made(): Promise<Record<string, string>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => FILES.includes(name)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')])),
  );
}

/** Expects the nodes' secrets to match those of the stores. */
function expectConsistent(files: Record<string, string>): void {
  expect(Object.keys(files)).toEqual(FILES);
  expect(parseSecrets(files['provec/secret']!)).toHaveLength(1);
  const [environment] = composeNodes.map((node) => node.environment!);
  const { mongoUrl, redisUrl } = readConfig({
    PROVEC_MONGO_URL_FILE: inFolder(folder, environment!.PROVEC_MONGO_URL_FILE!),
    PROVEC_REDIS_URL_FILE: inFolder(folder, environment!.PROVEC_REDIS_URL_FILE!),
  });
  const mongo = new URL(mongoUrl!);
  expect(mongo).toMatchObject({
    username: 'provec',
    password: files['stores/mongo-password'],
    host: 'mongo:27017',
    pathname: '/provec',
  });
  expect(Object.fromEntries(mongo.searchParams)).toEqual({ replicaSet: 'rs0', authSource: 'admin' });
  expect(new URL(redisUrl!)).toMatchObject({
    username: '',
    password: files['stores/redis-password'],
    host: 'redis:6379',
  });
}

describe('the service `secrets` of compose.yaml', () => {
  test('creates all of them, each a different 256-bit value, readable only by its users', async () => {
    expect(await makeSecrets(folder)).toBe(true);
    const files = await made();
    expectConsistent(files);
    const random = FILES.filter((name) => !name.endsWith('-url')).map((name) => files[name]!);
    for (const text of random) expect(text).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(random).size).toBe(random.length);
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(['provec', 'stores', ...FILES].sort());
    for (const [name, owner] of Object.entries(OWNERS)) {
      const { mode, uid, gid } = await stat(join(folder, name));
      expect(mode & 0o777).toBe(0o600);
      if (isRoot) expect({ uid, gid }).toEqual({ uid: owner, gid: owner });
    }
  });

  test('keeps existing ones, even a secret of another kind', async () => {
    await mkdir(join(folder, 'provec'));
    await writeFile(join(folder, 'provec/secret'), 'the-secret-of-an-older-installation\n');
    await makeSecrets(folder);
    const files = await made();
    expect(files['provec/secret']).toBe('the-secret-of-an-older-installation\n');
    await makeSecrets(folder);
    expect(await made()).toEqual(files);
  });

  test('creates no password from an unfinished file', async () => {
    await mkdir(join(folder, 'stores'));
    await writeFile(join(folder, 'stores/redis-password.draft'), 'f'.repeat(100));
    await writeFile(join(folder, 'stores/mongo-password'), '');
    await makeSecrets(folder);
    const files = await made();
    expectConsistent(files);
    for (const name of ['redis', 'mongo']) expect(files[`stores/${name}-password`]).toMatch(/^(?!f{64})[0-9a-f]{64}$/);
  });

  test('its next run completes it wherever it was interrupted, and changes nothing that was created', async () => {
    let cuts = 0;
    for (let isWhole = false; !isWhole; cuts++) {
      isWhole = await makeSecrets(folder, cuts);
      const before = await made();
      for (const text of Object.values(before)) expect(text).not.toBe('');
      await makeSecrets(folder);
      const after = await made();
      expectConsistent(after);
      expect(after).toMatchObject(before);
      await makeSecrets(folder);
      expect(await made()).toEqual(after);
      await rm(folder, { recursive: true });
      await mkdir(folder);
    }
    // Two folders, and six files that are chowned and moved into place, with a cut before and after
    // each call.
    expect(cuts).toBe(2 * (2 + 2 * FILES.length) + 1);
  });
});
