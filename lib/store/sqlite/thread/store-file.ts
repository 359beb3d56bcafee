import { existsSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../../port.ts';
import { FORMAT_FILE } from '../format-file.ts';
import { damagedFile, isOfSqlite } from '../store-failure.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { GroupCommit, type Outcome } from './group-commit.ts';
import { COMMITS_SCHEMA, countIn, HighWater } from './high-water.ts';

export interface StoreFileOptions extends DatabaseOptions {
  /** Whether its commits are counted, so that a loss is told. */
  isCounted: boolean;
  /** Sends the outcomes of a group on their way. */
  onSettled(): void;
}

/** How often the WAL is taken over into the file, and after how much of it at once. */
const CHECKPOINT_EVERY_MS = 3_000;
const CHECKPOINT_MIN_BYTES = 8 * 1024 * 1024;
/** Room that is left to removals, and to a later start. */
const RESERVE_BYTES = 2 * 1024 * 1024;

/** One file of the store: its writing connection, its group commit, and the upkeep of its WAL. */
export class StoreFile {
  readonly database: Database;
  readonly #commit: GroupCommit;
  readonly #timer: NodeJS.Timeout;
  readonly #path: string;
  readonly #inode: number;
  readonly #highWater: HighWater | null;
  /** What the WAL holds that the file does not: so much the file has yet to grow by, at most. */
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

  /** Commits what waits, then closes the file. */
  close(): void {
    clearInterval(this.#timer);
    this.#commit.drain();
    this.database.close();
    this.#highWater?.close();
  }

  /** What follows a group; nothing of it concerns what was committed. */
  #keepUp(): void {
    try {
      this.database.forgetCache();
      this.#walBytes = this.database.walBytes;
    } catch (error) {
      if (!isOfSqlite(error)) throw error;
    }
    if (this.#walBytes >= this.#checkpointAtBytes) this.#checkpoint();
  }

  /** A first start that was cut short leaves no commit behind. */
  #assertNew(): void {
    const format = join(dirname(this.#path), FORMAT_FILE);
    const count = this.database.fresh(countIn);
    // Another process may have made the folder meanwhile.
    if (count === 0 || existsSync(format)) return;
    this.database.close();
    throw damagedFile(
      FORMAT_FILE,
      'is missing',
      `put it back, or restore a whole copy where this one was cut short: ${basename(this.#path)} holds ${count} commits`,
    );
  }

  /**
   * What is written to a file that was removed, or that another was put in place of, is gone at the
   * end of the process.
   */
  #assertInPlace(): void {
    try {
      if (statSync(this.#path).ino === this.#inode) return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return;
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
    // All was taken over: the WAL is written again from its beginning, and the file has pages that
    // hold nothing.
    const { freeListBytes, walFileBytes } = this.database;
    const grownBytes = Math.max(0, 2 * bytes - freeListBytes) + Math.max(0, 2 * bytes - walFileBytes);
    return grownBytes === 0 || this.#freeBytes() >= grownBytes + RESERVE_BYTES;
  }

  #checkpoint(): void {
    try {
      this.#walBytes = this.database.checkpoint();
    } catch (error) {
      // The WAL still has it all.
      if (!isOfSqlite(error)) throw error;
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
