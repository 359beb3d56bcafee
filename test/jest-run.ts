/**
 * Runs jest and judges the run by its result file and its output. The exit code alone does not
 * suffice: it is 0 when a test calls `process.exit(0)`, and a handle that a test leaves open is a
 * hang in one mode and a warning in another.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { watchParent } from '../process/parent-watch.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUTLIVED = /torn down|failed to exit gracefully|Cannot log after tests are done/;
const STAYS = /did not exit one second after/;
const HANG_MS = 30_000;
const MEMORY = '/dev/shm';
const MEMORY_FREE_MIN_BYTES = 4 * 2 ** 30;

interface FileResult {
  name: string;
  status: string;
  message: string;
  startTime: number;
  endTime: number;
}

/** The parts of jest's result file that are used here. */
export interface JestResult {
  numPassedTests: number;
  numFailedTests: number;
  testResults: FileResult[];
}

export interface JestRun {
  /** Null when jest died before it wrote a result. */
  result: JestResult | null;
  /** jest's messages about work that continued after its test. */
  outlived: string[];
  /** Whether jest did not exit by itself after the last test and was killed. */
  hung: boolean;
  code: number | null;
}

export const shortName = (path: string): string => relative(ROOT, path);

export function failedFiles({ testResults }: JestResult): FileResult[] {
  return testResults.filter(({ status }) => status === 'failed');
}

/** Lists the slowest files, slowest first. */
export function slowestFiles({ testResults }: JestResult, count: number): string {
  return testResults
    .map(({ name, startTime, endTime }) => ({ name: shortName(name), ms: endTime - startTime }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, count)
    .map(({ name, ms }) => `${name} ${(ms / 1000).toFixed(1)} s`)
    .join(', ');
}

/**
 * Folder for temporary files: in memory if there is plenty of space. No test of the gate can tell
 * whether a sync has reached a disk, and thousands of syncs would wait for the machine's other
 * writes.
 */
export function temporaryFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    accessSync(MEMORY, constants.W_OK);
    if (bavail * bsize >= MEMORY_FREE_MIN_BYTES) return MEMORY;
  } catch {}
  return tmpdir();
}

/**
 * Ends this process and everything it started when the npm process above it ends: npm forwards a
 * signal to its shell, and the shell does not forward it.
 */
export function endWithNpm(): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  watchParent(() => process.kill(process.pid, 'SIGTERM'), `${process.ppid}`);
}

interface JestOptions {
  environment?: Record<string, string>;
  /** Parent of the folder for all temporary files, which is removed afterwards. */
  temporary?: string;
}

/** Runs jest with `args`. Its report goes to stderr as it arrives. */
export function runJest(
  args: string[],
  { environment = {}, temporary = tmpdir() }: JestOptions = {},
): Promise<JestRun> {
  const folder = mkdtempSync(join(temporary, 'provec-'));
  const file = join(folder, 'result.json');
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = [join(ROOT, 'node_modules/jest/bin/jest.js'), '--json', `--outputFile=${file}`];
  const child = spawn(process.execPath, [...node, ...jest, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', TMPDIR: folder, ...environment },
  });
  const outlived = new Set<string>();
  let hung = false;
  let patience: NodeJS.Timeout | undefined;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    process.stderr.write(text);
    for (const line of text.split('\n')) if (OUTLIVED.test(line)) outlived.add(line.trim());
    if (STAYS.test(text))
      patience ??= setTimeout(() => {
        hung = child.kill('SIGKILL');
      }, HANG_MS);
  });
  let interrupted: NodeJS.Signals | null = null;
  const interrupt = (signal: NodeJS.Signals): void => {
    interrupted = signal;
    child.kill('SIGKILL');
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(patience);
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      let result: JestResult | null = null;
      try {
        result = JSON.parse(readFileSync(file, 'utf8')) as JestResult;
      } catch {}
      // Interrupted processes are still exiting, and may write there.
      rmSync(folder, { recursive: true, force: true, maxRetries: interrupted === null ? 0 : 10 });
      if (interrupted !== null) process.kill(process.pid, interrupted);
      else resolve({ result, outlived: [...outlived], hung, code });
    });
  });
}
