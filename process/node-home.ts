/**
 * The folder of one process in the data directory: the whole directory if the process is alone on
 * its store, otherwise a folder named after the node.
 *
 * Guarantees: a process that is alone and one that shares never run on the same directory. If a
 * killed process had no configured name, the next start on this machine takes over what must
 * survive it. On failure: DataDirError, which says which process uses the directory. See
 * docs/internals/store.md.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ifMissing } from '../lib/host/system-error.ts';
import { MARKS_FOLDER, moveMarks } from '../store/crash-guarded-checkpoints.ts';
import type { Config } from './config.ts';
import { DataDirError, lockDataDir } from './data-dir.ts';
import { type DirectoryLock, isAbandoned, lockHolder } from './data-dir-lock.ts';

export interface NodeHome extends DirectoryLock {
  /** Folder of this process alone. */
  folder: string;
}

type Settings = Pick<Config, 'dataDir' | 'mongoUrl' | 'redisUrl' | 'transporter' | 'nodeId'>;

/** Returns the folder for checkpoints that the process writes or reads, within its home. */
export function checkpointsIn(home: string): string {
  return join(home, 'checkpoints');
}

/** Returns whether other processes may use the same store. */
export function isShared({ mongoUrl, redisUrl, transporter }: Settings): boolean {
  return mongoUrl !== null || transporter === 'TCP' || (redisUrl !== null && transporter !== 'none');
}

export function nodeName({ nodeId }: Pick<Config, 'nodeId'>): string {
  return nodeId ?? `${hostname()}-${process.pid}`;
}

/** Locks and returns the home of this process. Throws DataDirError. */
export async function lockHome(config: Settings): Promise<NodeHome> {
  const { dataDir } = config;
  return isShared(config) ? lockNodeFolder(dataDir, nodeName(config)) : lockWholeDirectory(dataDir);
}

async function lockWholeDirectory(dataDir: string): Promise<NodeHome> {
  const lock = await lockDataDir(dataDir);
  const nodes = await readdir(join(dataDir, 'nodes')).catch(ifMissing<string[]>([]));
  for (const node of nodes) {
    const holder = await lockHolder(join(dataDir, 'nodes', node));
    if (holder === null) continue;
    await lock.release();
    throw new DataDirError(
      `The data directory ${dataDir} is in use by process ${holder.pid} of a cluster; stop it, join it with PROVEC_TRANSPORTER=TCP, or set PROVEC_DATA_DIR to another folder.`,
    );
  }
  return { folder: dataDir, release: () => lock.release() };
}

async function lockNodeFolder(dataDir: string, node: string): Promise<NodeHome> {
  const folder = join(dataDir, 'nodes', node);
  const lock = await lockDataDir(folder).catch((error: unknown) => {
    if (error instanceof DataDirError && error.message.includes('in use by'))
      throw new DataDirError(`${error.message.split(';')[0]}: give every node a PROVEC_NODE_ID of its own.`);
    throw error;
  });
  const holder = await lockHolder(dataDir);
  if (holder === null) {
    await removeAbandoned(join(dataDir, 'nodes'), folder);
    return {
      folder,
      async release() {
        await lock.release();
        await rm(folder, { recursive: true, force: true });
      },
    };
  }
  await lock.release();
  throw new DataDirError(
    `The data directory ${dataDir} is in use by process ${holder.pid}, which is not part of a cluster; stop it or set PROVEC_DATA_DIR to another folder.`,
  );
}

/**
 * Removes folders of killed processes without a configured name, which no process would reuse.
 * Moves their checkpoint marks to the folder `successor`.
 */
async function removeAbandoned(nodes: string, successor: string): Promise<void> {
  const prefix = `${hostname()}-`;
  for (const entry of await readdir(nodes, { withFileTypes: true })) {
    const { name } = entry;
    if (!name.startsWith(prefix) || !/^\d+$/.test(name.slice(prefix.length))) continue;
    const left = join(nodes, name);
    if (!(await isAbandoned(left))) continue;
    if (entry.isDirectory()) await adoptMarks(left, successor);
    await rm(left, { recursive: true, force: true });
  }
}

async function adoptMarks(left: string, successor: string): Promise<void> {
  const marks = join(checkpointsIn(successor), MARKS_FOLDER);
  await mkdir(marks, { recursive: true, mode: 0o700 });
  await moveMarks(checkpointsIn(left), marks);
}
