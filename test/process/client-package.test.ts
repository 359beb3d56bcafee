/** The package that `npm publish` would upload, as a user installs it. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { blocksOf } from '../support/page-blocks.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const ROOT = join(import.meta.dirname, '../..');
const BIN = join(ROOT, 'node_modules/.bin');
const run = promisify(execFile);

let service: SharedService;
let home: string;
let installed: string;
beforeAll(async () => {
  service = await shareService('anchored');
  home = await mkdtemp(join(tmpdir(), 'provec-package-'));
  installed = join(home, 'node_modules/@provec/client');
  await mkdir(installed, { recursive: true });
  for (const scope of ['@noble', '@types'])
    await symlink(join(ROOT, 'node_modules', scope), join(home, 'node_modules', scope));
  // Builds a copy, because the build writes next to the source.
  const source = join(home, 'source');
  await cp(join(ROOT, 'client'), source, { recursive: true, filter: (path) => !path.endsWith('/dist') });
  const env = { ...process.env, PATH: `${BIN}:${process.env.PATH}` };
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', home], { cwd: source, env });
  await run('tar', ['-xzf', join(home, packed.stdout.trim()), '-C', installed, '--strip-components=1']);
  await writeFile(join(home, 'package.json'), '{"type": "module"}');
});
afterAll(() => rm(home, { recursive: true, force: true }));

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(home, name), text);
  return join(home, name);
}

test('contains the build, a README, a licence, and nothing else', async () => {
  expect((await readdir(installed)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
  const built = await readdir(join(installed, 'dist'), { recursive: true });
  expect(built.filter((name) => /\.\w+$/.test(name) && !/\.(js|d\.ts)$/.test(name))).toEqual([]);
  expect(await readFile(join(installed, 'LICENSE'), 'utf8')).toBe(await readFile(join(ROOT, 'LICENSE'), 'utf8'));
});

test('publint finds nothing, and would find a missing entry point', async () => {
  const lint = () => run(join(BIN, 'publint'), [installed, '--strict', '--pack=false']);
  expect((await lint()).stdout).toMatch(/All good/);
  const path = join(installed, 'package.json');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace('./dist/index.js', './dist/absent.js'));
  await expect(lint()).rejects.toMatchObject({ code: 1 });
  await writeFile(path, text);
});

const USE = `
  const provec = new Provec({ url: process.argv[2], apiKey: process.argv[3] });
  const notes = provec.collection(process.argv[4]);
  provec.createCollection({ name: notes.name, dimensions: 2 })
    .then(() => notes.upsert({ records: [{ id: 'a', values: [1, 2] }] }))
    .then(() => notes.query({ vector: Float32Array.of(1, 2), topK: 1 }))
    .then(({ matches }) => console.log(matches[0].id, typeof verifyProof));`;

test.each([
  ['import', 'use.js', `import { Provec, verifyProof } from '@provec/client';${USE}`],
  ['require', 'use.cjs', `const { Provec, verifyProof } = require('@provec/client');${USE}`],
])('works by %s', async (how, name, text) => {
  const { stdout } = await run(process.execPath, [await file(name, text), service.url, service.key, how]);
  expect(stdout).toBe('a function\n');
});

test('runs the first example of its README, up to the proof', async () => {
  const { text } = blocksOf('client/README.md').find(({ language }) => language === 'js')!;
  const path = await file('readme.js', text.replace('http://127.0.0.1:8080', service.url));
  const { url: LEDGER, authority: AUTHORITY } = service.ledger!;
  const env = { ...process.env, PROVEC_KEY: service.key, LEDGER, AUTHORITY };
  const { stdout } = await run(process.execPath, [path], { env });
  expect(stdout).toBe('a\npresent\n');
});

test('includes the command line tool', async () => {
  const cli = join(installed, 'dist/cli/provec-verify.js');
  expect((await run(process.execPath, [cli, '--help'])).stdout).toMatch(/^Usage: provec-verify/);
});

const TYPED = `import { type Api, NotFoundError, Provec } from '@provec/client';
const notes = new Provec({ url: 'http://x', apiKey: 'k' }).collection('notes');
export const found: Promise<Api.Match[]> = notes
  .query({ vector: new Float32Array(3), filter: { year: { $gte: 2026 }, $or: [{ a: 1 }, { b: { $in: ['x'] } }] } })
  .then(({ matches }) => matches, (error: unknown) => {
    if (error instanceof NotFoundError && error.code === 'COLLECTION_NOT_FOUND') return [];
    throw error;
  });
`;

describe('its types', () => {
  const CASES: [what: string, line: string, fault: string | null][] = [
    ['accept correct code', '', null],
    ['refuse two targets of a query', "void notes.query({ vector: [1], id: 'a' });", 'TS2345'],
    ['refuse a query of nothing', 'void notes.query({ topK: 3 });', 'TS2345'],
    ['name the field that was meant', 'void notes.query({ vector: [1], topk: 3 });', "mean to write 'topK'"],
    ['refuse an unknown metric', "void notes.configure({ metric: 'cosine' });", 'TS2353'],
  ];
  let faults: string[];

  /** Compiles all cases in one run, whose start takes most of the time. */
  beforeAll(async () => {
    const paths = await Promise.all(CASES.map(([, line], at) => file(`case-${at}.ts`, `${TYPED}${line}\n`)));
    const args = ['--noEmit', '--strict', '--ignoreConfig', '--module', 'nodenext', '--lib', 'es2022,dom', ...paths];
    const { stdout } = await run(join(BIN, 'tsc'), args).catch((failed: { stdout: string }) => failed);
    faults = stdout.split(/^(?=\S)/m);
    expect(faults.filter((text) => !text.startsWith('case-') && !text.includes('/case-'))).toEqual([]);
  });

  test.each(CASES.map(([what, , fault], at) => [what, at, fault] as const))('%s', (_, at, fault) => {
    const found = faults.filter((text) => text.includes(`case-${at}.ts`));
    expect(found).toEqual(fault === null ? [] : [expect.stringContaining(fault)]);
  });
});
