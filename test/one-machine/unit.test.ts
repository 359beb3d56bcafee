/** The systemd unit, and that the process can live in what it allows. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VARIABLES } from '../../process/config.ts';
import { apiClient } from '../support/api-client.ts';
import { StartedProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';

const run = promisify(execFile);
const DEPLOY = join(import.meta.dirname, '../../deploy');
const START = join(import.meta.dirname, '../../start.ts');
/** What systemd-analyze says of a service whose exposure is small, as docs/deploy.md claims. */
const EXPOSURE = /Overall exposure level for provec\.service: 1\.3 OK/;
/** SQLite sets the owner of its files only where root runs it. */
const ONLY_AS_ROOT = 'fchown';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-unit-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Copies a unit with programs that exist here, since /opt/provec does not. */
async function unit(name: string): Promise<string> {
  const text = await readFile(join(DEPLOY, name), 'utf8');
  const path = join(folder, name);
  await writeFile(path, text.replaceAll(/^ExecStart=\S+/gm, `ExecStart=${process.execPath}`));
  return path;
}

test('systemd finds nothing wrong in the units', async () => {
  const paths = await Promise.all(['provec.service', 'provec-backup.service', 'provec-backup.timer'].map(unit));
  const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...paths]);
  expect(`${stdout}${stderr}`).toBe('');
});

test('the unit is as little exposed as the page says', async () => {
  const { stdout } = await run('systemd-analyze', ['security', '--offline=yes', await unit('provec.service')]);
  expect(stdout).toMatch(EXPOSURE);
});

test('the settings exist', async () => {
  const lines = (await readFile(join(DEPLOY, 'provec.env'), 'utf8')).split('\n');
  const names = lines.flatMap((line) => /^(?:# )?(PROVEC_[A-Z_]+)=/.exec(line)?.[1] ?? []);
  const known = Object.values(VARIABLES).flatMap(({ env }) => [env, `${env}_FILE`]);
  expect(names.length).toBeGreaterThan(8);
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
});

/** Returns the system calls of a group, such as `@system-service`, and of the groups in it. */
async function callsOf(group: string): Promise<string[]> {
  const { stdout } = await run('systemd-analyze', ['syscall-filter', group]);
  const entries = stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
  const calls = entries.map((entry) => (entry.startsWith('@') ? callsOf(entry) : entry.startsWith('#') ? [] : [entry]));
  return (await Promise.all(calls)).flat();
}

test('the process makes no system call that the unit forbids', async () => {
  const trace = join(folder, 'trace');
  const environment = {
    PROVEC_PORT: '0',
    PROVEC_HEALTH_PORT: '0',
    PROVEC_LEDGER: 'off',
    PROVEC_DATA_DIR: join(folder, 'data'),
    PROVEC_BOOTSTRAP_KEY: TEST_KEY,
    PROVEC_DISK_RESERVE_MB: '16',
  };
  const strace = ['-f', '-qq', '-e', 'trace=all', '-o', trace, process.execPath] as const;
  const service = new StartedProcess(environment, [START], ['strace', ...strace]);
  const api = apiClient(await service.listening(), TEST_KEY);
  await api('POST', '/collections', { name: 'docs', dimensions: 16 });
  const records = Array.from({ length: 1_000 }, (_, id) => ({ id: `r${id}`, values: Array(16).fill(id + 1) }));
  expect((await api('POST', '/collections/docs/upsert', { records })).status).toBe(200);
  expect((await api('POST', '/collections/docs/query', { id: 'r1', topK: 3 })).status).toBe(200);
  expect((await api('GET', '/collections/docs/verify')).status).toBe(200);
  const pid = /^(\d+) /.exec(await readFile(trace, 'utf8'))![1];
  process.kill(Number(pid), 'SIGTERM');
  expect((await service.ended).code).toBe(0);

  const used = new Set([...(await readFile(trace, 'utf8')).matchAll(/^\d+ +([a-z_0-9]+)\(/gm)].map(([, call]) => call));
  const forbidden = new Set([...(await callsOf('@privileged')), ...(await callsOf('@resources'))]);
  const allowed = new Set((await callsOf('@system-service')).filter((call) => !forbidden.has(call)));
  expect(used.size).toBeGreaterThan(30);
  expect([...used].filter((call) => !allowed.has(call) && call !== ONLY_AS_ROOT)).toEqual([]);
}, 300_000);
