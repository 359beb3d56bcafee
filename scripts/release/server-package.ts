import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readModules } from '../../services/gateway/console/module-graph.ts';
import { type Lockfile, lockfileOf } from './locked-packages.ts';
import { run } from './run.ts';

/** Modules that start a process or a thread; the compiler finds all others. */
const ENTRIES = [
  'launch.ts',
  'cli/provec.ts',
  'client/cli/provec-verify.ts',
  'scripts/reseal.ts',
  'services/devledger/main.ts',
  'services/gateway/body-thread.ts',
  'services/shards/worker/main.ts',
  'store/sqlite/thread/backup.ts',
  'store/sqlite/thread/main.ts',
];
const CONSOLE = 'services/gateway/console/app';
/** Entries of the console, whose TypeScript the service strips when the console is first opened. */
const CONSOLE_ENTRIES = ['main', 'verifier/main', 'verifier/worker', 'verifier/standalone'];
const PAGES = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE', 'NOTICE', 'docs', 'deploy'];
/** The embedded ledger, which a checkout has for tests, too. */
const LEDGER = 'litesvm';
const COMPILER = {
  noEmit: false,
  allowImportingTsExtensions: false,
  rewriteRelativeImportExtensions: true,
};

interface Manifest {
  name: string;
  version: string;
  description: string;
  license: string;
  type: string;
  engines: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

/**
 * Writes the files of the package `provec` to `folder`: JavaScript, since Node strips no types
 * below node_modules, the versions of all packages it needs, and the docs.
 */
export async function stageServer(source: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await compile(source, folder);
  await copyConsole(source, folder);
  for (const page of PAGES) await cp(join(source, page), join(folder, page), { recursive: true });
  const manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as Manifest;
  const lock = JSON.parse(await readFile(join(source, 'package-lock.json'), 'utf8')) as Lockfile;
  const { name, version, description, license, type, engines, devDependencies } = manifest;
  const dependencies = { ...manifest.dependencies, [LEDGER]: devDependencies[LEDGER]! };
  const bin = { provec: './cli/provec.js', 'provec-verify': './client/cli/provec-verify.js' };
  const published = { name, version, description, license, type, engines, bin, dependencies };
  await writeJson(join(folder, 'package.json'), published);
  await writeJson(join(folder, 'npm-shrinkwrap.json'), lockfileOf(lock, dependencies));
}

async function compile(source: string, folder: string): Promise<void> {
  const settings = join(source, 'tsconfig.release.json');
  const compilerOptions = { ...COMPILER, rootDir: source, outDir: folder };
  await writeJson(settings, { extends: './tsconfig.json', compilerOptions, files: ENTRIES, include: [] });
  try {
    await run(process.execPath, [join(source, 'node_modules/typescript/bin/tsc'), '-p', settings], { cwd: source });
  } finally {
    await rm(settings);
  }
}

/** Copies what the console loads in browsers: its own files, and the modules that it shares. */
async function copyConsole(source: string, folder: string): Promise<void> {
  await cp(join(source, CONSOLE), join(folder, CONSOLE), { recursive: true });
  const graphs = await Promise.all(CONSOLE_ENTRIES.map((name) => readModules(`${CONSOLE}/${name}.ts`)));
  const shared = new Set(graphs.flatMap(({ modules }) => [...modules.keys()]));
  for (const path of shared) {
    if (path.startsWith('node_modules/')) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(source, path), join(folder, path));
  }
}

const writeJson = (file: string, value: unknown): Promise<void> =>
  writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
