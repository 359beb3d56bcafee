/** A new user's first hour: with the data of a running Chroma, and the command `provec` alone. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Installed, installFolder } from '../clients/installed.ts';
import { type CommandRun, PROVEC, startCommandLine } from '../support/command-line.ts';
import { readDebian } from '../support/debian.ts';
import { StartedProcess } from '../support/service-process.ts';
import { ChromaServer } from './chroma-server.ts';

const RECORDS = 20_000;

let installed: Installed;
let folder: string;
let chroma: ChromaServer | undefined;
let service: StartedProcess | undefined;
beforeAll(async () => {
  [installed, folder] = await Promise.all([installFolder(), mkdtemp(join(tmpdir(), 'provec-first-hour-'))]);
  chroma = await ChromaServer.start(installed, join(folder, 'chroma'));
  expect(await chroma.fill('packages', RECORDS)).toBe(RECORDS);
}, 400_000);
afterAll(async () => {
  chroma?.end();
  service?.dispose();
  await service?.ended;
  await Promise.all([installed?.dispose(), rm(folder, { recursive: true, force: true })]);
});

const provec = (args: readonly string[], input?: string): Promise<CommandRun> =>
  startCommandLine(args, { environment: { XDG_CONFIG_HOME: folder }, folder, input }).ended;
/** Runs a command that must succeed, and returns its document. */
async function answerOf(...args: string[]) {
  const { code, stdout, stderr } = await provec([...args, '--json']);
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return JSON.parse(stdout);
}

/** Starts the service on the settings of `provec init`. Returns its address. */
function started(environment: Record<string, string>): Promise<string> {
  const command = [process.execPath, PROVEC, 'start', '--env-file', join(folder, 'provec', 'provec.env')] as const;
  service = new StartedProcess({ PROVEC_PORT: '0', ...environment }, [], command);
  return service.listening();
}

async function loggedIn(url: string, key: string): Promise<void> {
  const token = await readFile(join(folder, 'provec', 'admin-token'), 'utf8');
  expect(await provec(['login', '--url', url], key)).toMatchObject({ code: 0 });
  expect(await provec(['login', '--admin', '--url', url], token)).toMatchObject({ code: 0 });
}

test('started, filled from Chroma, searched, verified, backed up, restored elsewhere with the same root', async () => {
  const backups = { PROVEC_BACKUP_DIR: join(folder, 'backups') };
  expect(await provec(['init'])).toMatchObject({ code: 0, stderr: '' });
  const url = await started(backups);
  const [key] = /pv_live_[\w-]{43}/.exec(service!.stdout)!;
  await loggedIn(url, key);

  const moved = await answerOf('import-from', 'chroma', 'packages', '--from', chroma!.url);
  expect(moved).toMatchObject({ moved: true, count: RECORDS, equal: RECORDS });
  const id = readDebian()!.ids[7]!;
  const nearest = await answerOf('query', 'packages', '--id', id, '--top-k', '1');
  expect(nearest).toMatchObject({ matches: [{ metadata: expect.anything() }] });
  expect(await answerOf('verify', 'packages')).toMatchObject({ state: 'match' });
  expect(await answerOf('backup', 'start', 'friday')).toMatchObject({ backup: { state: 'done' } });
  service!.child.kill('SIGTERM');
  expect(await service!.ended).toMatchObject({ code: 0 });

  const restored = join(folder, 'restored');
  expect(await provec(['restore', join(backups.PROVEC_BACKUP_DIR, 'friday'), restored])).toMatchObject({ code: 0 });
  await loggedIn(await started({ ...backups, PROVEC_DATA_DIR: restored }), key);
  expect(await answerOf('collections', 'get', 'packages')).toMatchObject({
    collection: { merkleRoot: moved.merkleRoot, vector_count: RECORDS },
  });
  expect(await answerOf('query', 'packages', '--id', id, '--top-k', '1')).toEqual(nearest);
  expect(await answerOf('verify', 'packages')).toMatchObject({ state: 'match' });
  expect(await provec(['verify', 'packages', '--manifest', 'packages.manifest'])).toMatchObject({ code: 0 });
  expect((await provec(['audit', '--operator'])).stdout).toMatch(/ {2}backup\.restore {2}done /);
}, 400_000);
