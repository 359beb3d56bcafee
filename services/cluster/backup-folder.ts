import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupStatus, RowRange, TablePage } from '../../contracts/actions/cluster.ts';
import { ProvecError } from '../../lib/errors.ts';
import { ifMissing } from '../../lib/host/system-error.ts';
import { UNDER_WAY } from '../../store/sqlite/backup.ts';
import { FORMAT_FILE } from '../../store/sqlite/format-file.ts';
import { RowWindow } from './paging.ts';

/** The folder that `POST /admin/backups` writes to, with one folder for each backup. */
export class BackupFolder {
  readonly #folder: string | null;
  /** Name of the backup that is running. */
  #running: string | null = null;
  #failed: BackupStatus | null = null;

  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /**
   * Starts `copy`, which writes a backup to the folder it is given. Throws INVALID_ARGUMENT if
   * another backup is running or the folder exists.
   */
  async start(name: string, copy: (folder: string) => Promise<unknown>): Promise<BackupStatus> {
    const folder = join(this.#path, name);
    if ((await statOrNull(folder)) !== null)
      throw new ProvecError('INVALID_ARGUMENT', `${folder} exists; give the backup another name.`);
    if (this.#running !== null)
      throw new ProvecError('INVALID_ARGUMENT', `The backup ${this.#running} is under way; wait until it ends.`);
    this.#failed = null;
    const status = { name, folder, bytes: 0, at: null, error: null };
    this.#running = name;
    void copy(folder).then(
      () => this.#end(null),
      (error: unknown) => this.#end({ ...status, state: 'failed', error: (error as Error).message }),
    );
    return { ...status, state: 'running' };
  }

  /** Lists the backups by name in descending order, including the last one if it failed. */
  async page(range: RowRange): Promise<TablePage<BackupStatus>> {
    const path = this.#path;
    const entries = await readdir(path, { withFileTypes: true }).catch(ifMissing<[]>([]));
    const folders = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    // A backup that has just begun has no folder yet.
    const names = new Set([...folders, ...(this.#running === null ? [] : [this.#running])]);
    const window = new RowWindow(range);
    const { from, to } = window.next(names.size);
    const listed = [...names].sort().reverse().slice(from, to);
    const backups = await Promise.all(listed.map((name) => this.#status(name)));
    const failed = this.#failed !== null && from === 0 ? [this.#failed] : [];
    return { rows: [...failed, ...backups.filter((status) => status !== null)], next: window.nextOffset };
  }

  get #path(): string {
    if (this.#folder !== null) return this.#folder;
    throw new ProvecError('INVALID_ARGUMENT', 'Set PROVEC_BACKUP_DIR to the folder for backups, and restart.');
  }

  #end(failed: BackupStatus | null): void {
    this.#running = null;
    this.#failed = failed;
  }

  /** Returns null for a folder that is not a backup. */
  async #status(name: string): Promise<BackupStatus | null> {
    const folder = join(this.#path, name);
    const names = await readdir(folder, { recursive: true }).catch(ifMissing<string[]>([]));
    const sizes = await Promise.all(names.map((each) => statOrNull(join(folder, each))));
    const bytes = sizes.reduce((sum, found) => sum + (found?.isFile() ? found.size : 0), 0);
    const status = { name, folder, bytes, error: null };
    if (this.#running === name) return { ...status, state: 'running', at: null };
    if (names.includes(UNDER_WAY)) return { ...status, state: 'interrupted', at: null };
    const made = sizes[names.indexOf(FORMAT_FILE)] ?? null;
    return made && { ...status, state: 'done', at: made.mtime.toISOString() };
  }
}

const statOrNull = (path: string): Promise<Stats | null> => stat(path).catch(ifMissing<null>(null));
