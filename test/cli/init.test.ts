/** `provec init`, and a start with what it makes. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readConfig } from '../../process/config.ts';
import { runCommand } from '../support/command-in-process.ts';
import { PROVEC } from '../support/command-line.ts';
import { StartedProcess } from '../support/service-process.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-init-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const NAMES = ['admin-token', 'data', 'provec.env', 'secret'];
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test('makes files that only their owner can read, and a start uses them', async () => {
  const own = join(folder, 'new', 'own');
  const { code, stdout, stderr } = await runCommand(['init', own]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect((await readdir(own)).sort()).toEqual(NAMES);
  const modes = await Promise.all(['', ...NAMES].map((name) => modeOf(join(own, name))));
  expect(modes).toEqual(['700', '600', '700', '600', '600']);
  const [secret, token] = await Promise.all(['secret', 'admin-token'].map((name) => readFile(join(own, name), 'utf8')));
  expect(secret).not.toBe(token);
  for (const text of [secret, token]) expect(stdout).not.toContain(text.trim());
  const { dataDir, adminToken, secretFile } = readConfig(parseEnv(await readFile(join(own, 'provec.env'), 'utf8')));
  expect({ dataDir, adminToken, secretFile }).toEqual({
    dataDir: join(own, 'data'),
    adminToken: token.trim(),
    secretFile: join(own, 'secret'),
  });
  const start = [process.execPath, PROVEC, 'start', '--env-file', join(own, 'provec.env')] as const;
  const service = new StartedProcess({ PROVEC_PORT: '0', PROVEC_LEDGER: 'off' }, [], start);
  const url = await service.listening();
  const file = { PROVEC_URL: url, PROVEC_ADMIN_TOKEN_FILE: join(own, 'admin-token') };
  expect(await runCommand(['accounts', 'list'], file)).toMatchObject({ code: 0, stderr: '' });
  service.child.kill('SIGTERM');
  expect(await service.ended).toEqual({ code: 0, signal: null });
  expect(await readFile(join(own, 'secret'), 'utf8')).toBe(secret);
  expect(await readdir(join(own, 'data'))).toContain('provec.json');
});

test.each(NAMES)('overwrites nothing: refuses a folder with %s, and makes nothing there', async (name) => {
  const own = join(folder, name);
  await mkdir(own);
  await writeFile(join(own, name), 'mine');
  expect(await runCommand(['init', own])).toEqual({
    code: 2,
    stdout: '',
    stderr: `provec: ${join(own, name)} exists. Nothing was made: name another folder, or move it away.\n`,
  });
  expect(await readdir(own)).toEqual([name]);
  expect(await readFile(join(own, name), 'utf8')).toBe('mine');
});

test('refuses a path that a file of settings cannot hold', async () => {
  expect(await runCommand(['init', join(folder, 'my folder')])).toMatchObject({ code: 2 });
  expect(await runCommand(['start', '--env-file', join(folder, 'absent.env')])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('absent.env'),
  });
});
