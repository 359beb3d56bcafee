import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { STORE_FORMAT } from '../../../store/sqlite/format-file.ts';
import { apiClient } from '../../support/api-client.ts';
import { smallService } from '../../support/environment.ts';
import { runningIn } from '../../support/process-group.ts';
import { StartedProcess } from '../../support/service-process.ts';
import { TEST_KEY } from '../../support/tenant.ts';

let root: string;
let copies = 0;
const started: StartedProcess[] = [];

function start(folder: string): StartedProcess {
  const run = new StartedProcess(smallService(folder));
  started.push(run);
  return run;
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'provec-damaged-'));
  await write(0, 2);
  await cp(join(root, 'sound', 'log.db'), join(root, 'older-log.db'));
  await write(2, 5);
});
afterAll(async () => {
  for (const run of started) run.dispose();
  await Promise.all(started.map(({ ended }) => ended));
  await rm(root, { recursive: true, force: true });
});

/** Starts a service, writes batches of 400 records, and stops it. */
async function write(from: number, to: number): Promise<void> {
  const run = start(join(root, 'sound'));
  const api = apiClient(await run.listening(), TEST_KEY);
  if (from === 0) await api('POST', '/collections', { name: 'c', dimensions: 2 });
  for (let i = from; i < to; i++) {
    const records = Array.from({ length: 400 }, (_, at) => ({ id: `r${i}-${at}`, values: [1, i * 400 + at] }));
    expect((await api('POST', '/collections/c/upsert', { records })).status).toBe(200);
  }
  run.child.kill('SIGTERM');
  await run.ended;
}

async function damaged(damage: (folder: string) => Promise<unknown>): Promise<string> {
  const folder = join(root, `copy${++copies}`);
  await cp(join(root, 'sound'), folder, { recursive: true });
  await damage(folder);
  return folder;
}

async function garble(path: string, fromPage: number): Promise<void> {
  const { size } = await stat(path);
  const file = await open(path, 'r+');
  for (let at = fromPage * 4_096; at < size; at += 4_096) await file.write(randomBytes(256), 0, 256, at);
  await file.close();
}

/** Garbles a line before the last one: any crash may truncate the last line. */
async function garbleLine(path: string): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(Buffer.from('?'), 0, 1, 40);
  await file.close();
}

describe('a start is refused in one line that says what to do', () => {
  test.each<[string, (folder: string) => Promise<unknown>, RegExp]>([
    ['garbled pages of the log', (folder) => garble(join(folder, 'log.db'), 2), /put back a backup/],
    ['a garbled head of the records', (folder) => garble(join(folder, 'records.db'), 0), /put back a backup/],
    [
      'a log of before the last writes',
      putOlderLog,
      /log\.db .* lacks the last \d+ of \d+ commits .* put back a backup/,
    ],
    ['missing records', (folder) => rm(join(folder, 'records.db')), /records\.db .* is missing: put back a backup/],
    [
      'a newer format',
      (folder) => writeFile(join(folder, 'provec.json'), JSON.stringify({ format: STORE_FORMAT + 1 })),
      /start it with the newer/,
    ],
    ['a garbled format', (folder) => writeFile(join(folder, 'provec.json'), '{"form'), /put back a backup/],
    ['a lost keypair', (folder) => rm(join(folder, 'ledger-keypair.json')), /keypair.*restore the file/],
    ['a garbled keypair', (folder) => writeFile(join(folder, 'ledger-keypair.json'), '[1,2]'), /64 numbers/],
    ['a damaged ledger', (folder) => garbleLine(join(folder, 'ledger/journal.ndjson')), /ledger.*damaged.*backup/],
  ])('for %s', async (_, damage, advice) => {
    const run = start(await damaged(damage));
    const { code, signal } = await run.ended;
    expect({ signal, refused: code === 1 || code === 2, stdout: run.stdout }).toEqual({
      signal: null,
      refused: true,
      stdout: '',
    });
    expect(run.stderr).toMatch(/^Provec cannot start: [^\n]+\n$/);
    expect(run.stderr).toMatch(advice);
    expect(await runningIn(run.child.pid!)).toEqual([]);
  });
});

describe('damage that can be repaired is no reason to refuse', () => {
  test.each<[string, (folder: string) => Promise<unknown>]>([
    ['lost checkpoints', (folder) => rm(join(folder, 'checkpoints'), { recursive: true })],
    ['garbled checkpoints', (folder) => garbleFiles(join(folder, 'checkpoints'))],
    ['a garbled list of open shards', (folder) => writeFile(join(folder, 'open-shards.json'), '[{"collectionId":5},7')],
    ['a list of open shards of another shape', (folder) => writeFile(join(folder, 'open-shards.json'), '[7,null,{}]')],
  ])('%s', async (_, damage) => {
    const run = start(await damaged(damage));
    const api = apiClient(await run.listening(), TEST_KEY);
    expect(await api('GET', '/collections/c/verify')).toMatchObject({
      status: 200,
      body: { state: 'match', vectorCount: 2_000 },
    });
    const query = await api('POST', '/collections/c/query', { vector: [0, 1], topK: 1 });
    expect(query).toMatchObject({ status: 200, body: { matches: [{ id: 'r4-399' }] } });
    run.child.kill('SIGTERM');
    expect(await run.ended).toEqual({ code: 0, signal: null });
  });
});

async function putOlderLog(folder: string): Promise<void> {
  await cp(join(root, 'older-log.db'), join(folder, 'log.db'));
}

test('a log without its last writes, once accepted, is detected by what was written after them: reads and no writes', async () => {
  const run = start(
    await damaged(async (folder) => {
      await putOlderLog(folder);
      // Like an operator who accepts the loss.
      await rm(join(folder, 'log.db-mark'));
    }),
  );
  const api = apiClient(await run.listening(), TEST_KEY);
  const refusal = {
    status: 500,
    body: { code: 'INTERNAL', error: expect.stringMatching(/missing.*put back a backup/) },
  };
  const write = { records: [{ id: 'new', values: [1, 1] }] };
  expect(await api('POST', '/collections/c/upsert', write)).toMatchObject(refusal);
  expect(await api('POST', '/collections/c/delete', { ids: ['r0-0'] })).toMatchObject(refusal);
  const fetched = await api<{ vectors: object }>('POST', '/collections/c/fetch', { ids: ['r0-0', 'r4-399', 'new'] });
  expect(Object.keys(fetched.body.vectors)).toEqual(['r0-0', 'r4-399']);
  expect(await api('GET', '/collections/c/verify')).toMatchObject({ status: 200, body: { state: 'mismatch' } });
  run.child.kill('SIGTERM');
  expect(await run.ended).toEqual({ code: 0, signal: null });
});

async function garbleFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(0);
  for (const { parentPath, name } of files) await garble(join(parentPath, name), 0);
}
