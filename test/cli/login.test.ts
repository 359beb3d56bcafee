/** Where `provec` takes an address and a key from, and how it keeps them. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { clientOf, operatorOf } from '../../cli/client.ts';
import { DEFAULT_URL } from '../../cli/settings.ts';
import { outputOf } from '../support/command-in-process.ts';
import { type CommandRun, startCommandLine } from '../support/command-line.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

let service: SharedService;
let home: string;
beforeAll(async () => {
  [service, home] = await Promise.all([shareService(), mkdtemp(join(tmpdir(), 'provec-login-'))]);
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Runs the command with a home of its own, named after the test. */
function provec(
  name: string,
  args: string[],
  { input, ...environment }: Record<string, string> = {},
): Promise<CommandRun> {
  const options = { environment: { HOME: join(home, name), ...environment }, input };
  return startCommandLine(args, options).ended;
}
const login = (name: string, ...args: string[]) =>
  provec(name, ['login', '--url', service.url, ...args], { input: `${service.key}\n` });
const configOf = (name: string) => join(home, name, '.config', 'provec', 'config.json');
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test('login checks the key, writes a profile that only its owner can read, and never shows the key', async () => {
  const run = await login('kept');
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).toContain(configOf('kept'));
  expect(run.stdout).not.toContain(service.key);
  expect([await modeOf(configOf('kept')), await modeOf(join(configOf('kept'), '..'))]).toEqual(['600', '700']);
  expect(await readdir(join(configOf('kept'), '..'))).toEqual(['config.json']);
  const other = await createTenant(service, 'enterprise', 'other');
  await other.api('POST', '/collections', { name: 'of-other', dimensions: 2 });
  const second = await provec('kept', ['login', '--profile', 'other'], {
    input: other.key.secret,
    PROVEC_URL: service.url,
  });
  expect(second).toMatchObject({ code: 0, stderr: '' });
  const list = ['collections', 'list', '--json'];
  const [own, byOption, byVariable, byKey, absent] = await Promise.all([
    provec('kept', list),
    provec('kept', [...list, '--profile', 'other']),
    provec('kept', list, { PROVEC_PROFILE: 'other' }),
    provec('kept', list, { PROVEC_KEY: other.key.secret }),
    provec('kept', [...list, '--profile', 'absent']),
  ]);
  expect(JSON.parse(own.stdout)).toEqual({ collections: [] });
  for (const run of [byOption, byVariable, byKey])
    expect(JSON.parse(run.stdout)).toMatchObject({ collections: [{ name: 'of-other' }] });
  expect(absent).toMatchObject({ code: 2, stderr: expect.stringContaining('has no profile "absent"') });
});

test('a refused key, or none, leaves no file', async () => {
  const wrong = `pv_live_${'x'.repeat(43)}`;
  const [refused, empty, spaced] = await Promise.all([
    provec('refused', ['login', '--url', service.url], { input: wrong }),
    provec('refused', ['login', '--url', service.url], { input: '\n' }),
    provec('refused', ['login', '--url', service.url], { input: 'a key' }),
  ]);
  expect(refused).toMatchObject({ code: 3, stdout: '' });
  expect(refused.stderr).toMatch(/^provec: [^\n]+\n$/);
  expect(refused.stderr).not.toContain(wrong);
  expect(empty).toMatchObject({ code: 2, stderr: 'provec: There is no key on stdin.\n' });
  expect(spaced).toMatchObject({ code: 2, stderr: expect.stringContaining('apiKey must be a key of Provec') });
  await expect(stat(join(home, 'refused'))).rejects.toThrow('ENOENT');
});

test.each([
  ['file that others can read', '', 0o644, 'chmod 600'],
  ['file that others can write', '', 0o602, 'chmod 600'],
  ['folder in which others can write', '..', 0o777, 'chmod 700'],
])('refuses a %s', async (name, place, mode, remedy) => {
  await login(name);
  await chmod(join(configOf(name), place), mode);
  const run = await provec(name, ['usage']);
  expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(`Run: ${remedy} `) });
  expect(run.stderr).not.toContain(service.key);
});

test('refuses a file that holds no profiles, without quoting it', async () => {
  await mkdir(join(configOf('broken'), '..'), { recursive: true, mode: 0o700 });
  for (const content of [`{"apiKey": "${service.key}" oops`, '{"profiles": {"default": {"url": 1}}}', 'null']) {
    await writeFile(configOf('broken'), content, { mode: 0o600 });
    const { code, stderr } = await login('broken');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/Repair or remove it\.\n$/) });
    expect(stderr).not.toContain(service.key);
    expect(await readFile(configOf('broken'), 'utf8')).toBe(content);
  }
});

test('sends the key of a profile only to the service of that profile', async () => {
  await login('bound');
  const elsewhere = await provec('bound', ['usage', '--url', 'http://127.0.0.1:1']);
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`is for ${service.url}. `) });
  expect(await provec('bound', ['usage', '--url', `${service.url}/`])).toMatchObject({ code: 0 });
});

test('without a key it says what to do; without an address it asks the default one of npm start', async () => {
  const run = await provec('empty', ['usage']);
  expect(run).toEqual({
    code: 2,
    stdout: '',
    stderr: 'provec: There is no API key. Run provec login, or set PROVEC_KEY.\n',
  });
  const { DEFAULTS } = await defaultsOfService();
  expect(DEFAULT_URL).toBe(`http://${DEFAULTS.host}:${DEFAULTS.port}`);
});

test('a secret that goes to another machine over plain HTTP is warned of', async () => {
  const secret = `pv_live_${'x'.repeat(43)}`;
  const other = await outputOf(() => clientOf({ url: 'http://192.0.2.1:8080', secret }));
  expect(other.stderr).toMatch(/^provec: warning: the API key goes to 192\.0\.2\.1:8080 over plain HTTP/);
  const token = await outputOf(() => operatorOf({ url: 'http://provec.example', secret }));
  expect(token.stderr).toMatch(/^provec: warning: the admin token goes to provec\.example over plain HTTP/);
  for (const { stderr } of [other, token]) expect(stderr).not.toContain(secret);
  const own = Object.values(networkInterfaces()).flatMap((each) => each!.filter(({ family }) => family === 'IPv4'));
  const hosts = ['localhost', '127.0.0.1', '127.8.9.1', '[::1]', 'a.localhost', ...own.map(({ address }) => address)];
  for (const url of [...hosts.map((host) => `http://${host}:8080`), 'https://192.0.2.1', 'https://provec.example'])
    expect({ url, ...(await outputOf(() => clientOf({ url, secret }))) }).toEqual({ url, stdout: '', stderr: '' });
});

async function defaultsOfService(): Promise<{ DEFAULTS: { host: unknown; port: unknown } }> {
  const { readConfig } = await import('../../process/config.ts');
  return { DEFAULTS: readConfig({}) };
}
