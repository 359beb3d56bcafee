import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { smallService } from '../support/environment.ts';
import { StartedProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const script = (name: string) => fileURLToPath(new URL(`../../scripts/${name}.ts`, import.meta.url));
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'] as const;

let dataDir = '';
let cluster: StartedProcess;
const pids = new Set<number>();

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'provec-laptop-'));
});
afterEach(async () => {
  cluster?.dispose();
  await cluster?.ended;
  for (const pid of pids) if (await isProvec(pid)) process.kill(pid, 'SIGKILL');
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const environment = () => smallService(dataDir, { PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'info' });

function start(args: string[] = []): StartedProcess {
  cluster = new StartedProcess(environment(), args, [...NODE, script('cluster')]);
  return cluster;
}

/** Process ids by name, from the banner. */
function members(): Map<string, number> {
  const lines = [...cluster.stdout.matchAll(/^ +(gateway|shards-\d+) +process (\d+)$/gm)];
  for (const [, , pid] of lines) pids.add(Number(pid));
  return new Map(lines.map(([, name, pid]) => [name!, Number(pid)]));
}

/** Whether the process is running and belongs to Provec. */
async function isProvec(pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return command.includes('start.ts') || command.includes('launch.ts');
}

async function noneIsLeft(): Promise<void> {
  await until('none of its processes is left', async () => {
    for (const pid of pids) if (await isProvec(pid)) return false;
    return true;
  });
}

function repl(...args: string[]) {
  const options = { env: { PATH: process.env.PATH, ...environment() } };
  return run(NODE[0], [NODE[1], script('repl'), ...args], options).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

/** Time limit of a test that starts about ten processes. */
const LONG_MS = 180_000;

test(
  'starts with nothing installed, is controlled by the REPL, restarts what dies, and ends in order',
  async () => {
    start();
    const url = await cluster.listening();
    const running = members();
    expect([...running.keys()]).toEqual(['gateway', 'shards-1', 'shards-2', 'shards-3']);
    expect(cluster.stdout).toContain('npm run repl');
    expect(cluster.stdout).toMatch(/^ +Ledger +off \(PROVEC_LEDGER=off\)/m);
    expect(cluster.stdout).not.toContain(TEST_KEY);
    // The script polls until the cluster is ready.
    expect(cluster.stderr).not.toContain('/readyz');
    const api = apiClient(url, TEST_KEY);
    expect((await api('POST', '/collections', { name: 'docs', dimensions: 2, shards: 4 })).status).toBe(201);
    const records = [{ id: 'a', values: [1, 2] }];
    expect((await api('POST', '/collections/docs/upsert', { records })).status).toBe(200);

    const nodes = await until('every node is known to the gateway', async () => {
      const { code, stdout } = await repl('provec', 'nodes');
      expect(code).toBe(0);
      return [1, 2, 3].every((n) => new RegExp(`^shards-${n} +serving `, 'm').test(stdout)) && { stdout };
    });
    expect(nodes.stdout).not.toContain('\u001b');
    expect(await repl('provec', 'collections')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^default +docs /m),
    });
    const moved = await repl('provec', 'move', 'default/docs.1', 'shards-2');
    expect(moved).toMatchObject({ code: 0, stdout: expect.stringContaining('is on shards-2') });
    const refused = await repl('provec', 'drain', 'nobody');
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^nobody cannot hold [^\n]+\n$/),
    });
    expect(await repl('provec', 'fly')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^Unknown command [^\n]+\n$/),
    });

    const copy = join(dataDir, '..', `${basename(dataDir)}-copy`);
    expect(await repl('provec', 'backup', copy)).toMatchObject({ code: 0 });
    const alone = new StartedProcess({ ...environment(), PROVEC_DATA_DIR: copy });
    pids.add(alone.child.pid!);
    const fetched = await apiClient(await alone.listening(), TEST_KEY)('POST', '/collections/docs/fetch', {
      ids: ['a'],
    });
    expect(fetched).toMatchObject({ status: 200, body: { vectors: { a: { values: [1, 2] } } } });
    alone.dispose();
    await alone.ended;
    await rm(copy, { recursive: true });

    process.kill(running.get('shards-2')!, 'SIGKILL');
    await until('it is said', () =>
      /!!! shards-2 has ended \(SIGKILL\); it is started again in 1 s/.test(cluster.stderr),
    );
    const [, again] = await until('it runs again', () => /shards-2 runs again \(process (\d+)\)/.exec(cluster.stderr));
    pids.add(Number(again));
    await until('what it held is served', async () => {
      const { status, body } = await api<{ matches: unknown[] }>('POST', '/collections/docs/query', { vector: [1, 2] });
      return status === 200 && body.matches.length === 1;
    });

    cluster.child.kill('SIGTERM');
    expect(await cluster.ended).toEqual({ code: 0, signal: null });
    await noneIsLeft();
    const stopped = [...cluster.stderr.matchAll(/^\[(\S+)\] .*"msg":"stopped"/gm)].map(([, name]) => name);
    expect(stopped[0]).toBe('gateway');
    expect(stopped.slice(1).sort()).toEqual(['shards-1', 'shards-2', 'shards-3']);
  },
  LONG_MS,
);

test('leaves no process behind when killed, and keeps the data', async () => {
  start(['--nodes', '2']);
  const url = await cluster.listening();
  expect([...members().keys()]).toEqual(['gateway', 'shards-1', 'shards-2']);
  const answer = await apiClient(url, TEST_KEY)('POST', '/collections/docs/fetch', { ids: ['a'] });
  expect(answer).toMatchObject({ status: 200 });
  cluster.child.kill('SIGKILL');
  await noneIsLeft();
});

test('refuses in one line what it cannot start', async () => {
  start(['--nodes', '0']);
  expect(await cluster.ended).toMatchObject({ code: 2 });
  expect(cluster.stderr).toMatch(/^Provec cannot start: Usage: npm run cluster [^\n]+\n$/);
  expect(await repl('provec')).toMatchObject({ code: 0, stdout: expect.stringContaining('provec drain <node>') });
});
