import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runningIn } from '../../support/process-group.ts';
import { StartedProcess } from '../../support/service-process.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');
const PRODUCT = [
  'client',
  'contracts',
  'lib',
  'mixins',
  'process',
  'repl',
  'services',
  'store',
  'transport',
  'moleculer.config.ts',
  'package.json',
  'provec.ts',
  'start.ts',
];

let installed: string;
const started: StartedProcess[] = [];

/** The product as in an image without development packages: every package except litesvm. */
beforeAll(() => {
  installed = mkdtempSync(join(tmpdir(), 'provec-installed-'));
  for (const name of PRODUCT) cpSync(join(PROJECT, name), join(installed, name), { recursive: true });
  const packages = join(PROJECT, 'node_modules');
  mkdirSync(join(installed, 'node_modules'));
  for (const name of readdirSync(packages)) {
    if (!name.startsWith('litesvm')) symlinkSync(join(packages, name), join(installed, 'node_modules', name));
  }
});
afterAll(async () => {
  for (const run of started) run.dispose();
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(installed, { recursive: true, force: true });
});

function start(environment: Record<string, string> = {}): StartedProcess {
  const data = { PROVEC_PORT: '0', PROVEC_DATA_DIR: join(installed, 'data') };
  const command = [process.execPath, join(installed, 'start.ts')] as const;
  const run = new StartedProcess({ ...data, ...environment }, [], command);
  started.push(run);
  return run;
}

test('without litesvm and without another ledger the start is refused in one line that says what to do', async () => {
  const run = start();
  expect(await run.ended).toEqual({ code: 1, signal: null });
  expect(run.stdout).toBe('');
  expect(run.stderr).toMatch(
    /^Provec cannot start: [^\n]*litesvm[^\n]*PROVEC_SOLANA_RPC_URLS[^\n]*PROVEC_LEDGER=off[^\n]*\n$/,
  );
  expect(await runningIn(run.child.pid!)).toEqual([]);
});

test('with PROVEC_LEDGER=off it starts without litesvm, and stops with exit code 0', async () => {
  const run = start({ PROVEC_LEDGER: 'off' });
  const url = await run.listening();
  expect(run.stdout).toContain('\n  Ledger       off (PROVEC_LEDGER=off): roots are not anchored\n');
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await runningIn(run.child.pid!)).length).toBe(1);
  run.child.kill('SIGTERM');
  expect(await run.ended).toEqual({ code: 0, signal: null });
});
