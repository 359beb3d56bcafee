/** Interrupting `npm test` leaves none of its processes running. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type Descendant, descendantsOf, stillRunning } from '../../support/process-group.ts';
import { until } from '../../support/until.ts';

const RUNNER = fileURLToPath(new URL('../../run.ts', import.meta.url));
const ROOT = dirname(dirname(RUNNER));
const HELD = '**/test/support/held-run.ts';
type Command = [string, ...string[]];
const DIRECTLY: Command = [process.execPath, '--disable-warning=ExperimentalWarning', RUNNER];
const BY_NPM: Command = ['npm', 'test', '--prefix', ROOT, '--'];

let folder: string;
let started: Descendant[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-interrupted-'));
});
/** Folder for all temporary files of the run. */
let temporary: string;
afterEach(async () => {
  // There are none, unless the test failed.
  for (const { pid } of await stillRunning(started)) process.kill(pid, 'SIGKILL');
  await rm(temporary, { recursive: true, force: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A test run in its own process group, as a shell creates it, stopped in the middle of a test. */
async function heldRun(name: string, [command, ...args]: Command): Promise<ChildProcess> {
  const file = join(folder, name);
  const run = spawn(command, [...args, '--testMatch', HELD], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, PROVEC_TEST_HELD_FILE: file },
  });
  await until('the services run', () => {
    if (run.exitCode !== null) throw new Error(`the run ended with ${run.exitCode}`);
    return existsSync(file);
  });
  return run;
}

test.each<[string, Command, (pid: number) => void]>([
  ['SIGINT to the group', DIRECTLY, (pid) => process.kill(-pid, 'SIGINT')],
  ['SIGTERM to the runner', DIRECTLY, (pid) => process.kill(pid, 'SIGTERM')],
  ['SIGKILL to the runner', DIRECTLY, (pid) => process.kill(pid, 'SIGKILL')],
  ['SIGTERM to npm alone', BY_NPM, (pid) => process.kill(pid, 'SIGTERM')],
])('%s ends everything that a run had started', async (name, command, interrupt) => {
  const run = await heldRun(name, command);
  started = await descendantsOf(run.pid!);
  const commands = started.map(({ command }) => command).join('\n');
  expect(commands.match(/\/start\.ts/g)).toHaveLength(2);
  expect(commands.match(/devledger\/main\.ts/g)).toHaveLength(1);
  temporary = /--outputFile=(\S+)\/result\.json/.exec(commands)![1]!;
  interrupt(run.pid!);
  await until('nothing of it runs any more', async () => (await stillRunning(started)).length === 0);
  expect(run.exitCode).not.toBe(0);
  // A killed process cannot remove its files.
  if (!name.startsWith('SIGKILL')) expect(existsSync(temporary)).toBe(false);
});
