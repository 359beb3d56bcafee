import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type NodeHome, takeHome } from '../../lib/process/node-home.ts';
import { ownIdentity } from '../../lib/process/process-identity.ts';

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
  const home = await takeHome({ dataDir, nodeId, mongoUrl: null, redisUrl: null, transporter: 'TCP' });
  homes.push(home);
  return home;
}

/** A folder that a process of this machine held and did not release, as after SIGKILL. */
async function left(name: string): Promise<string> {
  const folder = join(dataDir, 'nodes', name);
  mkdirSync(folder, { recursive: true });
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(join(folder, 'lock.1'), JSON.stringify({ ...(await ownIdentity()), pid, startedAt: '1' }));
  return folder;
}

test('folders of processes without a name that were killed are removed, and no others', async () => {
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

test('a folder goes with its process, and no two processes have one name', async () => {
  const { folder, release } = await take('shards-1');
  await expect(take('shards-1')).rejects.toThrow('give every node a PROVEC_NODE_ID of its own');
  await release();
  expect(existsSync(folder)).toBe(false);
  homes = [];
});
