import { existsSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../../../lib/host/system-error.ts';
import { StoreError } from '../../port.ts';
import { FORMAT_FILE } from '../format-file.ts';
import { damagedFile, isSqliteError } from '../store-failure.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { GroupCommit, type Outcome } from './group-commit.ts';
import { COMMITS_SCHEMA, countIn, HighWater } from './high-water.ts';

export interface StoreFileOptions extends DatabaseOptions {
  /** Whether commits are counted, so that lost commits are detected. */
  isCounted: boolean;
  /** Sends the outcomes of a group to the main thread. */
  onSettled(): void;
}

/** Interval between checkpoints of the WAL, and the size in bytes that triggers one at once. */
const CHECKPOINT_EVERY_MS = 3_000;
const CHECKPOINT_MIN_BYTES = 8 * 1024 * 1024;
/** Disk space, in bytes, reserved for removals and for a later start. */
const RESERVE_BYTES = 2 * 1024 * 1024;

/**
 * One file of the store: its writing connection, its group commit, and the maintenance of its WAL.
 */
export class StoreFile {
  readonly database: Database;
  readonly #commit: GroupCommit;
  readonly #timer: NodeJS.Timeout;
  readonly #path: string;
  readonly #inode: number;
  readonly #highWater: HighWater | null;
  /** Bytes in the WAL that are not yet in the file: the most that the file may still grow by. */
  #walBytes = 0;
  #checkpointAtBytes = CHECKPOINT_MIN_BYTES;

  /** Throws StoreError or an error of node:sqlite. */
  constructor({ isCounted, onSettled, ...options }: StoreFileOptions) {
    const { path, schema, made } = options;
    this.#path = path;
    const highWater = isCounted ? new HighWater(`${path}-mark`, basename(path)) : null;
    this.#highWater = highWater;
    try {
      const inspect = (connection: DatabaseSync) => highWater?.check(connection);
      this.database = new Database({ ...options, schema: isCounted ? schema + COMMITS_SCHEMA : schema, inspect });
      if (isCounted && !made) this.#assertNew();
      this.#inode = statSync(path).ino;
    } catch (error) {
      highWater?.close();
      throw error;
    }
    this.#commit = new GroupCommit({
      database: this.database,
      hasRoom: (bytes) => this.#hasRoom(bytes),
      beforeCommit: () => highWater?.count(this.database),
      onCommit: () => highWater?.committed(),
      afterGroup: () => {
        onSettled();
        this.#keepUp();
      },
    });
    this.#timer = setInterval(() => {
      this.#assertInPlace();
      this.#checkpoint();
    }, CHECKPOINT_EVERY_MS);
  }

  submit(operation: () => unknown, bytes: number, settle: (outcome: Outcome) => void): void {
    this.#commit.submit(operation, bytes, settle);
  }

  /**
   * Throws StoreError: 'unavailable' once nothing is committed any more, as after the file was
   * removed; 'changed' while its schema is another.
   */
  reach(): void {
    this.#assertInPlace();
    const { refusal } = this.#commit;
    if (refusal !== null) throw refusal;
    this.database.compareSchema();
  }

  /** Commits everything submitted, then closes the file. */
  close(): void {
    clearInterval(this.#timer);
    this.#commit.drain();
    this.database.close();
    this.#highWater?.close();
  }

  /** Runs after each group. Errors here do not affect what was committed. */
  #keepUp(): void {
    try {
      this.database.forgetCache();
      this.#walBytes = this.database.walBytes;
    } catch (error) {
      if (!isSqliteError(error)) throw error;
    }
    if (this.#walBytes >= this.#checkpointAtBytes) this.#checkpoint();
  }

  /**
   * Throws if the file has commits but the folder has no format file: an interrupted first start
   * leaves no commits.
   */
  #assertNew(): void {
    const format = join(dirname(this.#path), FORMAT_FILE);
    const count = this.database.fresh(countIn);
    // Another process may have finished the folder in the meantime.
    if (count === 0 || existsSync(format)) return;
    this.database.close();
    throw damagedFile(
      FORMAT_FILE,
      'is missing',
      `put it back, or restore a complete copy if this one was interrupted: ${basename(this.#path)} holds ${count} commits`,
    );
  }

  /**
   * Refuses commits once the file was removed or replaced: what is written to it would be lost when
   * the process ends.
   */
  #assertInPlace(): void {
    try {
      if (statSync(this.#path).ino === this.#inode) return;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') return;
    }
    const name = basename(this.#path);
    this.#commit.refuse(
      new StoreError('unavailable', `${name} was removed from the data directory, or replaced: restart the service.`),
    );
  }

  #hasRoom(bytes: number): boolean {
    const isEnough = () => this.#freeBytes() >= this.#walBytes + 2 * bytes + RESERVE_BYTES;
    if (isEnough()) return true;
    this.#checkpoint();
    if (this.#walBytes > 0) return isEnough();
    // Everything was checkpointed: the WAL is written from its start again, and the file has unused
    // pages.
    const { freeListBytes, walFileBytes } = this.database;
    const grownBytes = Math.max(0, 2 * bytes - freeListBytes) + Math.max(0, 2 * bytes - walFileBytes);
    return grownBytes === 0 || this.#freeBytes() >= grownBytes + RESERVE_BYTES;
  }

  #checkpoint(): void {
    try {
      this.#walBytes = this.database.checkpoint();
    } catch (error) {
      // The WAL still has everything.
      if (!isSqliteError(error)) throw error;
    }
    this.#checkpointAtBytes = this.#walBytes + CHECKPOINT_MIN_BYTES;
  }

  #freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#path));
      return bavail * bsize;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }
}
