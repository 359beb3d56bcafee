import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { storeKeys } from '../../../../lib/secret/keyring.ts';
import { ConfigError } from '../../../../process/config.ts';
import { loadSecrets } from '../../../../process/secret-file.ts';

const [OLD, NEW] = ['the first secret of this installation', 'the second secret of this installation'];

const NAMED = { secretFile: '/nowhere/at/all' };
const MONGO = { mongoUrl: 'mongodb://localhost' };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-secret-'));
});
afterEach(() => rm(folder, { recursive: true }));

const log = { warn: jest.fn(), debug: jest.fn() };
const open = (settings: Partial<Parameters<typeof loadSecrets>[0]> = {}, mayCreate = false) =>
  loadSecrets({ secret: null, secretFile: null, dataDir: folder, mongoUrl: null, ...settings }, mayCreate, log);
const refusal = (opening: Promise<unknown>) =>
  opening.then(
    () => null,
    (error: unknown) => error,
  );

describe('the secret file', () => {
  test('is created once, for its owner only, even by many processes at once', async () => {
    const made = await Promise.all(Array.from({ length: 16 }, () => open({}, true)));
    const [first] = made;
    expect(first![0]).toMatch(/^[\w-]{43}$/);
    for (const secrets of made) expect(secrets).toEqual(first);
    expect(await open()).toEqual(first);
    expect((await stat(join(folder, 'secret'))).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['secret']);
    expect(log.debug).toHaveBeenCalledTimes(1);
  });

  test('is reported if others can read it', async () => {
    await open({}, true);
    await chmod(join(folder, 'secret'), 0o604);
    await open();
    expect(log.warn).toHaveBeenCalledTimes(1);
  });

  test('may also hold the earlier secret', async () => {
    await writeFile(join(folder, 'secret'), `${NEW}\n${OLD}\n`.replaceAll(' ', '_'));
    expect(await open()).toEqual([NEW, OLD].map((secret) => secret.replaceAll(' ', '_')));
  });

  test('is not treated as missing if it cannot be read', async () => {
    await mkdir(join(folder, 'secret'));
    expect(await refusal(open({}, true))).toMatchObject({
      message: expect.stringMatching(/Provec cannot read .*secret \(EISDIR\): let /),
    });
  });

  test.each(['', 'short', 'a-secret-of-32-characters-and-no-é-that-is-ascii'])(
    'is refused with invalid content, which is not repeated (%j)',
    async (text) => {
      await writeFile(join(folder, 'secret'), text);
      const error = (await refusal(open({}, true))) as ConfigError;
      expect(error).toBeInstanceOf(ConfigError);
      expect(error.message).toMatch(/^PROVEC_SECRET_FILE must be a file of one to four secrets/);
      if (text) expect(error.message).not.toContain(text);
      expect(await readFile(join(folder, 'secret'), 'utf8')).toBe(text);
    },
  );

  test.each([
    ['a store that already exists', {}, false, / does not exist: put back the secret that the store was created with/],
    ['a file that was named, at the first start', NAMED, true, /\/nowhere\/at\/all does not exist: create one there/],
    [
      'a file that was named, later',
      NAMED,
      false,
      /\/nowhere\/at\/all does not exist: put back the secret that the store/,
    ],
    ['MongoDB, and a file that was named', { ...NAMED, ...MONGO }, false, /: put back .* if no node has started yet/],
    ['MongoDB', MONGO, false, /must be set with PROVEC_MONGO_URL/],
    ['a secret in the variable', { secret: [NEW] as const, secretFile: '/x' }, true, /Only one of/],
  ])('is not created for %s', async (_, settings, isFirstStart, message) => {
    expect(await refusal(open(settings, isFirstStart))).toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(message),
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

test('keys of different purposes, and of different secrets, are unrelated', () => {
  const all = [OLD, NEW].flatMap((secret) =>
    Object.values(storeKeys([secret])).map(([key]) => Buffer.from(key).toString('hex')),
  );
  expect(new Set(all).size).toBe(all.length);
  expect(storeKeys([NEW, OLD]).log).toEqual([storeKeys([NEW]).log[0], storeKeys([OLD]).log[0]]);
});
