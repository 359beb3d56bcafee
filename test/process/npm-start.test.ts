import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { runningIn } from '../support/process-group.ts';
import { NPM_START, StartedProcess } from '../support/service-process.ts';

const run = promisify(execFile);
const SECRET = /pv_live_[\w-]{43}/g;

let folder: string;
const started: StartedProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-npm-'));
});
afterAll(async () => {
  for (const one of started) one.dispose();
  await Promise.all(started.map(({ ended }) => ended));
  await rm(folder, { recursive: true, force: true });
});

function npmStart(): StartedProcess {
  const one = new StartedProcess({ PROVEC_PORT: '0', PROVEC_DATA_DIR: join(folder, 'data') }, [], NPM_START);
  started.push(one);
  return one;
}

let secret = '';

test('a first start prints what you need to begin, in order, and nothing else', async () => {
  const spawnedMs = performance.now();
  const npm = npmStart();
  const url = await npm.listening();
  console.log(
    `npm start on an empty folder: ${((performance.now() - spawnedMs) / 1000).toFixed(1)} s to the last line`,
  );
  const told = npm.stdout.slice(npm.stdout.indexOf('Provec listens'));
  const [key, ...same] = told.match(SECRET)!;
  expect(told.split('\n')).toEqual([
    `Provec listens on ${url}`,
    '',
    `  Data folder  ${join(folder, 'data')}`,
    `  Console      ${url}/console/`,
    expect.stringMatching(/^ {2}Ledger {7}Solana, embedded, RPC http:\/\/127\.0\.0\.1:\d+, authority \w{32,44}$/),
    `  API key      ${key}   (shown only this once)`,
    `  Secret       ${join(folder, 'data', 'secret')}   (keep a copy apart from the data)`,
    '',
    'Create a collection:',
    '',
    expect.stringMatching(/^ {2}curl -sS \S+ -H /),
    '',
    '',
  ]);
  expect(new Set([key, ...same]).size).toBe(1);
  expect(npm.stderr).not.toMatch(SECRET);
  secret = key;

  const curl = /^ *curl .*$/m.exec(told)![0];
  const pasted = JSON.parse((await run('sh', ['-c', curl])).stdout);
  expect(pasted).toMatchObject({ collection: { name: 'demo', dimensions: 3, metric: 'cosine', vector_count: 0 } });
  const again = JSON.parse((await run('sh', ['-c', curl])).stdout);
  expect(again).toMatchObject({ status: 409, code: 'COLLECTION_EXISTS' });

  // Signals the whole group, like Ctrl-C in a terminal or a supervisor.
  process.kill(-npm.child.pid!, 'SIGTERM');
  await npm.ended;
  expect(npm.stderr).toContain('"stopped"');
  expect(npm.stderr).not.toMatch(/"level":[456]0/);
  expect(await runningIn(npm.child.pid!)).toEqual([]);
});

test('a second start prints no key, and the first key still works; a signal to npm alone stops everything', async () => {
  const npm = npmStart();
  const api = apiClient(await npm.listening(), secret);
  expect(npm.stdout).not.toMatch(/pv_live_|API key/);
  expect(await api('GET', '/collections')).toMatchObject({ status: 200, body: { collections: [{ name: 'demo' }] } });
  npm.child.kill('SIGTERM');
  await npm.ended;
  expect(npm.stderr).toContain('"stopped"');
  expect(await runningIn(npm.child.pid!)).toEqual([]);
});
