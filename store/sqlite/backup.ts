import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { makeFolder } from '../../lib/host/make-folder.ts';
import { systemCode } from '../../lib/host/system-error.ts';
import { moduleBeside } from '../../lib/module-beside.ts';
import { FORMAT_FILE } from './format-file.ts';

export interface BackupOrder {
  folder: string;
  target: string;
  /** SQLite files in `folder`. */
  files: readonly string[];
  /** Other files, by their paths within `folder`, that are only appended to or replaced whole. */
  beside: readonly string[];
}

export interface BackupDone {
  bytes: number;
}

/** File in the target while a backup writes to it. Only the backup that made it may clean up. */
export const UNDER_WAY = 'backup-under-way';

/**
 * Copies a snapshot of `files` and `beside` to `target`, a missing or empty folder. Leaves out
 * checkpoints: shards rebuild their indexes. Throws errors of the system or of SQLite, or one that
 * says what `target` holds. Then nothing of this copy is left in `target`.
 */
export async function copyStore(order: BackupOrder): Promise<BackupDone> {
  const { target } = order;
  const made = await makeFolder(target);
  await claim(target);
  try {
    const done = await inThread(order);
    await rm(join(target, UNDER_WAY));
    return done;
  } catch (error) {
    for (const name of await readdir(target)) await rm(join(target, name), { recursive: true });
    if (made !== null) await rm(made, { recursive: true });
    throw error;
  }
}

/** Makes the folder this backup's own. Throws an error if it holds anything. */
async function claim(target: string): Promise<void> {
  refuseContent(target, await readdir(target));
  const mark = join(target, UNDER_WAY);
  try {
    await writeFile(mark, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') refuseContent(target, [UNDER_WAY]);
    throw error;
  }
  try {
    // Another backup may have been completed in between.
    refuseContent(
      target,
      (await readdir(target)).filter((name) => name !== UNDER_WAY),
    );
  } catch (error) {
    await rm(mark);
    throw error;
  }
}

function refuseContent(target: string, names: readonly string[]): void {
  if (names.length === 0) return;
  if (names.includes(UNDER_WAY))
    throw new Error(`another backup is being written to ${target}, or was cut short there; use an empty folder`);
  if (names.includes(FORMAT_FILE)) throw new Error(`${target} holds a backup or a store already; use an empty folder`);
  throw new Error(`${target} is not empty`);
}

function inThread(workerData: BackupOrder): Promise<BackupDone> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(moduleBeside('./thread/backup', import.meta.url), { name: 'provec-backup', workerData });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('its thread ended')));
  });
}
