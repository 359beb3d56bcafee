import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runningIn } from '../support/process-group.ts';
import { NPM_START, StartedProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

let folder = '';
let run: StartedProcess;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-console-'));
  // The console keeps its history in the home folder.
  const environment = { HOME: folder, PROVEC_PORT: '0', PROVEC_DATA_DIR: join(folder, 'data') };
  run = new StartedProcess(environment, ['--', '--repl'], NPM_START, { stdin: true });
});
afterEach(async () => {
  run.dispose();
  await run.ended;
  await rm(folder, { recursive: true, force: true });
});

/** Contents of the data folder's lock: its holder, or that it was released. */
async function lock(): Promise<unknown> {
  const data = join(folder, 'data');
  const [name] = (await readdir(data)).filter((file) => /^lock\.\d+$/.test(file));
  return JSON.parse(await readFile(join(data, name!), 'utf8'));
}

test.each([
  ['exit', () => run.child.stdin!.write('exit\n')],
  ['quit', () => run.child.stdin!.write('quit\n')],
  ['the end of what is typed', () => run.child.stdin!.end()],
])('npm start -- --repl answers, and ends normally with %s', async (_, end) => {
  await until('it asks for a command', () => run.stdout.includes('provec $ '));
  expect(await lock()).toMatchObject({ pid: expect.any(Number) });
  run.child.stdin!.write('provec nodes\n');
  await until('it has answered', () => /^\S+ +serving +0 /m.test(run.stdout));
  run.child.stdin!.write('provec fly\n');
  await until('it has answered', () => run.stdout.includes('Unknown command provec fly;'));
  end();
  expect(await run.ended).toEqual({ code: 0, signal: null });
  expect(await lock()).toBe('released');
  expect(await runningIn(run.child.pid!)).toEqual([]);
});
