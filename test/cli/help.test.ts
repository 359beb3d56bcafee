/** What `provec` says about itself: help, examples, completion, and `provec start`. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { completionScript } from '../../cli/completion-script.ts';
import { makeProgram } from '../../cli/program.ts';
import { examplesOf, helpOf, withChildren } from '../support/command-examples.ts';
import { type CommandRun, PROVEC, startCommandLine, startProgram } from '../support/command-line.ts';
import { StartedProcess } from '../support/service-process.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN } from '../support/tenant.ts';

const COMMANDS = [
  'start',
  'init',
  'login',
  'collections',
  'upsert',
  'query',
  'get',
  'list',
  'count',
  'delete',
  'import',
];
const OTHERS = [
  'import-from',
  'export',
  'verify',
  'prove',
  'mcp',
  'watch',
  'history',
  'audit-links',
  'keys',
  'audit',
  'usage',
];
const OPERATORS = [
  'accounts',
  'plans',
  'nodes',
  'shards',
  'move',
  'drain',
  'anchors',
  'verifications',
  'resume',
  'backup',
  'restore',
  'ledger',
  'top',
  'doctor',
];
const NAMES = [...COMMANDS, ...OTHERS, ...OPERATORS, 'completion'];
/** Commands whose examples other tests run, or that need more than the README's first steps. */
const TRIED_ELSEWHERE = ['start', 'audit', ...OPERATORS];
/** Their examples need a running source; the suite `moving-in` runs them. */
const SOURCES = ['chroma', 'qdrant', 'weaviate', 'pinecone', 'pgvector'];
const isTried = (command: Command): boolean => !SOURCES.includes(command.name());
const README_RECORDS = [
  { id: 'a', values: [0.1, 0.2, 0.3, 0.4], metadata: { text: 'hello', year: 2026 } },
  { id: 'b', values: [0.4, 0.3, 0.2, 0.1], metadata: { text: 'world', year: 2025 } },
];

const program = await makeProgram();
const all = program.commands.flatMap(withChildren);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-help-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the help lists every command and exit code, and the page describes both', async () => {
  expect(program.commands.map((command) => command.name())).toEqual(NAMES);
  const { code, stdout, stderr } = await startCommandLine(['--help']).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const page = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  for (const command of NAMES) {
    expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'));
    expect(page).toContain(`\`provec ${command}`);
  }
  for (const exitCode of [0, 1, 2, 3, 4, 130]) {
    expect(stdout).toMatch(new RegExp(`^ {2}${exitCode} `, 'm'));
    expect(page).toMatch(new RegExp(`^\\| ${exitCode} \\|`, 'm'));
  }
});

test('every command has an example, and no option takes a key', () => {
  expect(all.filter((command) => !helpOf(command).includes('  $ ')).map((command) => command.name())).toEqual([]);
  const withValues = all.flatMap(({ options }) => options.filter(({ required, optional }) => required || optional));
  const names = withValues.map(({ long }) => long);
  // `--keys` of a plan is a number.
  expect(names.filter((name) => /key|token|secret/.test(name!))).toEqual(['--keys']);
});

describe('the examples work after the first steps of the README', () => {
  let service: SharedService;
  beforeAll(async () => {
    service = await shareService('anchored');
    await service.api('POST', '/collections', { name: 'notes', dimensions: 4, metric: 'cosine' });
    await service.api('POST', '/collections/notes/upsert', { records: README_RECORDS });
  });

  /** Runs the examples of a command one after another, in a shell and a folder of their own. */
  async function run(command: Command): Promise<CommandRun & { name: string }> {
    const own = join(folder, command.name());
    await mkdir(own);
    const script = `set -eo pipefail\nprovec() { "$NODE" "$PROVEC" "$@"; }\n${examplesOf(command, isTried).join('\n')}`;
    const environment = {
      NODE: process.execPath,
      PROVEC,
      PROVEC_URL: service.url,
      PROVEC_KEY: service.key,
      PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
      LEDGER: service.ledger!.url,
      AUTHORITY: service.ledger!.authority,
      HOME: own,
    };
    const ended = await startProgram('bash', ['-c', script], { environment, folder: own }).ended;
    return { name: command.name(), ...ended };
  }

  test.each([
    [
      'of commands that leave notes as it is',
      (name: string) => !['upsert', 'delete', 'import', ...TRIED_ELSEWHERE].includes(name),
    ],
    ['of commands that change notes', (name: string) => ['upsert', 'delete', 'import'].includes(name)],
  ])('%s', async (_, isMeant) => {
    const commands = program.commands.filter((command) => isMeant(command.name()));
    for (const { name, code, stdout, stderr } of await Promise.all(commands.map(run))) {
      expect({ name, code, stdout, stderr }).toMatchObject({ name, code: 0, stderr: '' });
    }
  });
});

test('bash completes commands and options at every place', async () => {
  const script = join(folder, 'completion.bash');
  await writeFile(script, completionScript('bash', program));
  const completed = async (...words: string[]): Promise<string[]> => {
    const line = `source '${script}'; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _provec; echo "\${COMPREPLY[@]}"`;
    const { stdout } = await startProgram('bash', ['-c', line, 'bash', 'provec', ...words]).ended;
    return stdout.trim().split(' ');
  };
  const [first, child, option, other, value, deep, file] = await Promise.all([
    completed('co'),
    completed('collections', ''),
    completed('--json', 'collections', 'create', '--d'),
    completed('query', 'collections', '--ve'),
    completed('anchors', ''),
    completed('accounts', 'keys', ''),
    completed('import', 'notes', ''),
  ]);
  expect(first).toEqual(['collections', 'count', 'completion']);
  expect(child).toEqual(['list', 'create', 'get', 'delete']);
  expect(option).toEqual(['--dimensions', '--deletion-protection']);
  expect(other).toEqual(['--vector']);
  expect(value).toEqual(['pending', 'halted']);
  expect(deep).toEqual(['list', 'create', 'revoke']);
  // Without a candidate, bash completes files.
  expect(file).toEqual(['']);
});

test('the scripts for zsh and fish name every command and option', () => {
  for (const shell of ['zsh', 'fish'] as const) {
    const script = completionScript(shell, program);
    for (const command of all) {
      expect(script).toContain(command.name());
      for (const { long } of command.options) expect(script).toContain(shell === 'fish' ? ` ${long!.slice(2)} ` : long);
    }
  }
});

test('start is npm start: it passes arguments, settings, signals and the exit code on', async () => {
  const settings = { PROVEC_PORT: '0', PROVEC_LEDGER: 'off', PROVEC_DATA_DIR: join(folder, 'data') };
  const own = { PROVEC_KEY: 'of-the-command', PROVEC_PROFILE: 'of-the-command' };
  const run = (...args: string[]) =>
    new StartedProcess({ ...settings, ...own }, args, [process.execPath, PROVEC, 'start']);
  const misused = run('services/nothing');
  expect(await misused.ended).toEqual({ code: 2, signal: null });
  expect(misused.stderr).toContain('services/nothing is neither --repl nor one of services/gateway');
  const service = run();
  expect((await fetch(`${await service.listening()}/livez`)).status).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.ended).toEqual({ code: 0, signal: null });
  expect(service.stderr).toContain('"stopped"');
});
