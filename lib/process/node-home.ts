/**
 * The place of one process in the data directory.
 *
 * The only process on a store has the whole directory, and locks it. Processes that share a store
 * (through a transporter, or MongoDB) each have a folder in it, named after the node; they share
 * what lies beside. A process of the one kind and one of the other never run on the same directory:
 * each takes its own lock first and looks for the other's after that, so that of two that start
 * together one at least gives way.
 */
import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { DataDirError, lockDataDir } from './data-dir.ts';
import { type HeldLock, holderOf, isAbandoned } from './data-dir-lock.ts';

export interface NodeHome extends HeldLock {
  /** For what belongs to this process alone. */
  folder: string;
}

type Settings = Pick<Config, 'dataDir' | 'mongoUrl' | 'redisUrl' | 'transporter' | 'nodeId'>;

/** Whether other processes may be on the same store. */
export function isShared({ mongoUrl, redisUrl, transporter }: Settings): boolean {
  return mongoUrl !== null || transporter === 'TCP' || (redisUrl !== null && transporter !== 'none');
}

/** The name of this node in the cluster. */
export function nodeName({ nodeId }: Pick<Config, 'nodeId'>): string {
  return nodeId ?? `${hostname()}-${process.pid}`;
}

/** Throws DataDirError. */
export async function takeHome(config: Settings): Promise<NodeHome> {
  const { dataDir } = config;
  return isShared(config) ? takePart(dataDir, nodeName(config)) : takeWhole(dataDir);
}

async function takeWhole(dataDir: string): Promise<NodeHome> {
  const lock = await lockDataDir(dataDir);
  const nodes = await readdir(join(dataDir, 'nodes')).catch((): string[] => []);
  for (const node of nodes) {
    const holder = await holderOf(join(dataDir, 'nodes', node));
    if (holder === null) continue;
    await lock.release();
    throw new DataDirError(
      `The data directory ${dataDir} is in use by process ${holder.pid} of a cluster; stop it, join it with PROVEC_TRANSPORTER=TCP, or set PROVEC_DATA_DIR to another folder.`,
    );
  }
  return { folder: dataDir, release: () => lock.release() };
}

async function takePart(dataDir: string, node: string): Promise<NodeHome> {
  const folder = join(dataDir, 'nodes', node);
  const lock = await lockDataDir(folder).catch((error: unknown) => {
    if (error instanceof DataDirError && error.message.includes('in use by'))
      throw new DataDirError(`${error.message.split(';')[0]}: give every node a PROVEC_NODE_ID of its own.`);
    throw error;
  });
  const holder = await holderOf(dataDir);
  if (holder === null) {
    await removeLeft(join(dataDir, 'nodes'));
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
    `The data directory ${dataDir} is in use by process ${holder.pid}, which is no part of a cluster; stop it or set PROVEC_DATA_DIR to another folder.`,
  );
}

/**
 * Folders of processes that were killed and had no name of their own: nobody comes back to them.
 */
async function removeLeft(nodes: string): Promise<void> {
  const prefix = `${hostname()}-`;
  for (const node of await readdir(nodes)) {
    if (!node.startsWith(prefix) || !/^\d+$/.test(node.slice(prefix.length))) continue;
    if (await isAbandoned(join(nodes, node))) await rm(join(nodes, node), { recursive: true, force: true });
  }
}
