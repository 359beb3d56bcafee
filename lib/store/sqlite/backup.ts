import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { makeFolder } from '../../process/make-folder.ts';

export interface BackupOrder {
  folder: string;
  target: string;
  /** SQLite files of `folder`. */
  files: readonly string[];
  /** Other files of it, only ever appended to or replaced whole, by their paths within it. */
  beside: readonly string[];
}

export interface BackupDone {
  bytes: number;
}

/**
 * Copies `files` and `beside`, all as they were at one moment, to `target`, which is made or is
 * empty. Without checkpoints: shards build their index anew. Throws an error of the system, of
 * SQLite, or one that says that `target` is not empty; then nothing is left there.
 */
export async function copyStore(order: BackupOrder): Promise<BackupDone> {
  const { target } = order;
  const made = await makeFolder(target);
  if ((await readdir(target)).length > 0) throw new Error(`${target} is not empty`);
  try {
    return await inThread(order);
  } catch (error) {
    for (const name of await readdir(target)) await rm(join(target, name), { recursive: true });
    if (made !== null) await rm(made, { recursive: true });
    throw error;
  }
}

function inThread(workerData: BackupOrder): Promise<BackupDone> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./thread/backup.ts', import.meta.url), { name: 'provec-backup', workerData });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('its thread ended')));
  });
}
