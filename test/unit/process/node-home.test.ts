import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ownIdentity } from '../../../lib/host/process-identity.ts';
import { checkpointsIn, lockHome, type NodeHome } from '../../../process/node-home.ts';
import { CrashGuardedCheckpoints } from '../../../store/crash-guarded-checkpoints.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { newCollection } from '../../contract/store-rows.ts';
import { TEST_KEYS } from '../../support/store-keys.ts';

let dataDir: string;
let homes: NodeHome[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'provec-home-'));
  homes = [];
});
afterEach(async () => {
  for (const home of homes) await home.release();
  rmSync(dataDir, { recursive: true, force: true });
});

async function take(nodeId: string | null): Promise<NodeHome> {
  const home = await lockHome({ dataDir, nodeId, mongoUrl: null, redisUrl: null, transporter: 'TCP' });
  homes.push(home);
  return home;
}

/** Opens the store as the service does. */
async function storeOf({ folder }: Pick<NodeHome, 'folder'>, told: unknown[] = []) {
  const log = { error: (mark: unknown) => void told.push(mark) } as never;
  return openSqliteStore(dataDir, { keys: TEST_KEYS, nodeFolder: checkpointsIn(folder), log });
}

/** A folder that a process of this machine held but did not release, as after SIGKILL. */
async function left(name: string): Promise<string> {
  const folder = join(dataDir, 'nodes', name);
  mkdirSync(folder, { recursive: true });
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(join(folder, 'lock.1'), JSON.stringify({ ...(await ownIdentity()), pid, startedAt: '1' }));
  return folder;
}

test('folders of killed processes without a name are removed, and no others', async () => {
  const killed = await left(`${hostname()}-99999`);
  const named = await left('shards-1');
  const elsewhere = await left('another-host-99999');
  const starting = join(dataDir, 'nodes', `${hostname()}-88888`);
  mkdirSync(starting);
  const living = await take(`${hostname()}-77777`);
  await take(null);
  expect(existsSync(killed)).toBe(false);
  for (const folder of [named, elsewhere, starting, living.folder]) expect(existsSync(folder)).toBe(true);
});

test('a folder is removed with its process, and no two processes have one name', async () => {
  const { folder, release } = await take('shards-1');
  await expect(take('shards-1')).rejects.toThrow('give every node a PROVEC_NODE_ID of its own');
  await release();
  expect(existsSync(folder)).toBe(false);
  homes = [];
});

test('a process without a name ends while it reads a checkpoint: the next one, with another pid, does not read it', async () => {
  const shard = `${newCollection().id}.0`;
  const before = await left(`${hostname()}-99999`);
  const other = await left(`${hostname()}-99998`);
  const store = await storeOf({ folder: before });
  const staged = await store.checkpoints.stage(shard);
  writeFileSync(join(staged, 'graph.usearch'), 'what ends native code');
  await store.checkpoints.put(shard, 7, staged);
  await store.close();
  // What this process leaves when it is killed here, and what another killed process left.
  const stored = { fetch: async () => ({ folder: '', files: [] }) } as never;
  const reading = [before, other].map((each) => join(checkpointsIn(each), 'reading'));
  for (const [at, folder] of reading.entries()) {
    mkdirSync(folder, { recursive: true });
    await new CrashGuardedCheckpoints(stored, folder).fetch(shard, 7 + at);
  }
  const told: unknown[] = [];
  const next = await storeOf(await take(null), told);
  expect(told).toHaveLength(2);
  expect(told).toEqual(expect.arrayContaining([7, 8].map((seq) => ({ shard, seq }))));
  expect(await next.checkpoints.fetch(shard, 7)).toBeNull();
  expect(existsSync(before) || existsSync(other)).toBe(false);
  await next.close();
});

test("of two that start at once over a third one's leftovers, one gets its marks", async () => {
  const reading = join(checkpointsIn(await left(`${hostname()}-99999`)), 'reading');
  mkdirSync(reading, { recursive: true });
  for (let mark = 0; mark < 20; mark++) writeFileSync(join(reading, String(mark)), String(mark));
  const taken = await Promise.all([take(`${hostname()}-77777`), take(`${hostname()}-88888`)]);
  const marks = taken.flatMap(({ folder }) => {
    const own = join(checkpointsIn(folder), 'reading');
    return existsSync(own) ? readdirSync(own).map((name) => Number(readFileSync(join(own, name)))) : [];
  });
  expect(marks.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, mark) => mark));
});

test('links to elsewhere in a folder left behind: nothing is taken from there', async () => {
  const elsewhere = join(dataDir, 'elsewhere');
  mkdirSync(join(elsewhere, 'reading'), { recursive: true });
  for (const name of ['keypair.json', 'reading/keypair.json']) writeFileSync(join(elsewhere, name), 'a secret');
  const [one, two] = [await left(`${hostname()}-99999`), await left(`${hostname()}-99998`)];
  symlinkSync(elsewhere, checkpointsIn(one));
  mkdirSync(checkpointsIn(two));
  symlinkSync(elsewhere, join(checkpointsIn(two), 'reading'));
  symlinkSync(elsewhere, join(dataDir, 'nodes', `${hostname()}-99997`));
  await take(null);
  expect(existsSync(one) || existsSync(two)).toBe(false);
  expect(readdirSync(elsewhere).sort()).toEqual(['keypair.json', 'reading']);
  expect(readdirSync(join(elsewhere, 'reading'))).toEqual(['keypair.json']);
});

test.each(['nodes', 'nodes/one'])(
  'a folder of cluster nodes that cannot be read refuses the start: %s',
  async (name) => {
    const folder = join(dataDir, name);
    mkdirSync(join(folder, '..'), { recursive: true });
    symlinkSync(folder, folder);
    const alone = { dataDir, nodeId: null, mongoUrl: null, redisUrl: null, transporter: 'none' } as const;
    await expect(lockHome(alone)).rejects.toMatchObject({ code: 'ELOOP' });
  },
);
