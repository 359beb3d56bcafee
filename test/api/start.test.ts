import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { StartedProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const started: StartedProcess[] = [];
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-start-'));
});
afterAll(async () => {
  for (const run of started) run.dispose();
  await Promise.all(started.map(({ ended }) => ended));
  await rm(folder, { recursive: true, force: true });
});

function start(environment: Record<string, string> = {}, args: string[] = []): StartedProcess {
  const defaults = {
    PROVEC_PORT: '0',
    PROVEC_DATA_DIR: join(folder, 'data'),
    PROVEC_LEDGER: 'off',
    PROVEC_WORKERS: '1',
  };
  const run = new StartedProcess({ ...defaults, ...environment }, args);
  started.push(run);
  return run;
}

async function refusal(environment: Record<string, string>, args: string[] = []) {
  const run = start(environment, args);
  const { code } = await run.ended;
  return { code, stdout: run.stdout, stderr: run.stderr };
}
const oneLine = (about: RegExp) =>
  expect.stringMatching(new RegExp(`^Provec cannot start: [^\\n]*${about.source}[^\\n]*\\n$`));

describe('a start that cannot succeed', () => {
  test.each([
    ['an unknown variable', { PROVEC_POTR: '1' }, [], /PROVEC_POTR/],
    ['a bad value', { PROVEC_PORT: 'http' }, [], /PROVEC_PORT must be/],
    ['an unknown service', {}, ['services/oracle'], /services\/oracle/],
  ])('is refused with one line for %s, and exit code 2', async (_, environment, args, about) => {
    const outcome = await refusal(environment as Record<string, string>, args);
    expect(outcome).toEqual({ code: 2, stdout: '', stderr: oneLine(about) });
  });

  test('is refused with one line for a missing keypair', async () => {
    const ledger = { PROVEC_LEDGER: 'on', PROVEC_SOLANA_RPC_URLS: 'http://127.0.0.1:1' };
    expect(await refusal({ PROVEC_DATA_DIR: join(folder, 'keypair'), ...ledger })).toMatchObject({
      stdout: '',
      stderr: oneLine(/keypair/),
    });
  });

  test('is refused with one line for a data directory that is not a folder', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    expect(await refusal({ PROVEC_DATA_DIR: file })).toEqual({
      code: 1,
      stdout: '',
      stderr: oneLine(/is a file, not a folder/),
    });
  });
});

describe('a start', () => {
  test('prints the first key once, and a request that works when pasted', async () => {
    const data = { PROVEC_DATA_DIR: join(folder, 'first'), PROVEC_LEDGER: 'on' };
    const run = start(data);
    const url = await run.listening();
    const key = /pv_live_[\w-]{43}/.exec(run.stdout)?.[0];
    expect(run.stdout.startsWith(`Provec listens on ${url}\n`)).toBe(true);
    expect(run.stdout).toContain(data.PROVEC_DATA_DIR);
    expect(run.stdout).toMatch(/Ledger +Solana, embedded, RPC http:\/\/127\.0\.0\.1:\d+, authority \w{32,44}\n/);
    const pasted = /^ *curl .*$/m.exec(run.stdout)![0];
    const { stdout } = await promisify(execFile)('sh', ['-c', pasted]);
    expect(JSON.parse(stdout)).toMatchObject({ collection: { name: 'demo', dimensions: 3 } });
    run.child.kill('SIGINT');
    expect(await run.ended).toEqual({ code: 0, signal: null });
    expect(run.stderr).not.toContain(key);
    const again = start(data);
    await again.listening();
    expect(again.stdout).not.toContain('pv_live_');
    const { body } = await apiClient(await again.listening(), key!)('GET', '/collections');
    expect(body).toMatchObject({ collections: [{ name: 'demo' }] });
  });

  test('is refused with one line if the store is damaged', async () => {
    const data = { PROVEC_DATA_DIR: join(folder, 'first') };
    await Promise.all(started.map(({ child, ended }) => child.kill('SIGKILL') && ended));
    await truncate(join(data.PROVEC_DATA_DIR, 'log.db'), 5_000);
    expect(await refusal(data)).toEqual({ code: 1, stdout: '', stderr: oneLine(/damaged/) });
  });
});

describe('a process', () => {
  const key = 'a-key-for-this-test';
  const data = () => ({ PROVEC_DATA_DIR: join(folder, 'used') });
  let run: StartedProcess;
  let url: string;

  test('whose port is in use is refused with one line, and frees the data directory', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const outcome = await refusal({ ...data(), PROVEC_PORT: `${port}` });
    expect(outcome).toEqual({ code: 1, stdout: '', stderr: oneLine(new RegExp(`127.0.0.1:${port}: another program`)) });
    await promisify(server.close.bind(server))();
    // The first start generated a key but never printed it, so the next start takes the given one.
    run = start({ ...data(), PROVEC_PORT: `${port}`, PROVEC_BOOTSTRAP_KEY: key });
    url = `http://127.0.0.1:${port}`;
  });

  test('has its key and carries out its work once started', async () => {
    const create = async () => {
      const answer = apiClient(url, key)('POST', '/collections', { name: 'kept', dimensions: 2 });
      const { status } = await answer.catch(() => ({ status: 503 }));
      return status !== 503 && status;
    };
    expect(await until('it has started', create)).toBe(201);
    await run.listening();
  });

  test('has its data directory to itself: a second one is told the owner, and does no harm', async () => {
    expect(await refusal(data())).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `Provec cannot start: The data directory ${data().PROVEC_DATA_DIR} is in use by process ${run.child.pid}; ` +
        'stop it or set PROVEC_DATA_DIR to another folder.\n',
    });
    const upsert = await apiClient(url, key)('POST', '/collections/kept/upsert', {
      records: [{ id: 'a', values: [1, 0] }],
    });
    expect(upsert).toMatchObject({ status: 200, body: { upsertedCount: 1 } });
  });

  test('ends at once on a second signal', async () => {
    // A request that never ends blocks the graceful stop.
    const body = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode('{')) });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const held = fetch(`${url}/api/v1/collections`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    held.catch(() => undefined);
    const isHeld = async () =>
      (await (await fetch(`${url}/metrics`)).text()).includes('provec_http_requests_in_flight 2');
    await until('the request is in flight', isHeld);
    run.child.kill('SIGTERM');
    await until('the stop begins', () => run.stderr.includes('stopping on SIGTERM'));
    run.child.kill('SIGTERM');
    expect(await run.ended).toEqual({ code: 143, signal: null });
  });
});
