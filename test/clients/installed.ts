/** Packages from npm and PyPI in their own folders, and the scenarios that use them. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const INSTALL_TIMEOUT_MS = 240_000;
const RUN_TIMEOUT_MS = 120_000;

const run = promisify(execFile);

/** Runs a scenario with the installed packages and returns the lines that it prints. */
export type Scenario = (file: string, ...args: string[]) => Promise<string[]>;

export interface Installed {
  /** Holds the folders of the packages: 0, 1, ... in the order of the calls. */
  readonly folder: string;
  /** The scenario's first argument is the folder of the packages. */
  fromNpm(...packages: string[]): Promise<Scenario>;
  fromPypi(...packages: string[]): Promise<Scenario>;
  dispose(): Promise<void>;
}

export async function installFolder(): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), 'provec-clients-'));
  const installing = { timeout: INSTALL_TIMEOUT_MS };
  let count = 0;
  return {
    folder,
    async fromNpm(...packages) {
      const home = join(folder, `${count++}`);
      await mkdir(home);
      await writeFile(join(home, 'package.json'), '{}');
      await run('npm', ['install', '--no-audit', '--no-fund', ...packages], { ...installing, cwd: home });
      return (file, ...args) => linesOf(process.execPath, file, [home, ...args]);
    },
    async fromPypi(...packages) {
      const home = join(folder, `${count++}`);
      await run('python3', ['-m', 'venv', home], installing);
      await run(join(home, 'bin', 'pip'), ['install', '-q', ...packages], installing);
      return (file, ...args) => linesOf(join(home, 'bin', 'python'), file, args);
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

async function linesOf(program: string, file: string, args: string[]): Promise<string[]> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { stdout } = await run(program, [path, ...args], { timeout: RUN_TIMEOUT_MS });
  return stdout.trim().split('\n');
}
