import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isOfSqlite } from '../store-failure.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { GroupCommit, type Outcome } from './group-commit.ts';
import { COMMITS_SCHEMA, HighWater } from './high-water.ts';

export interface StoreFileOptions extends DatabaseOptions {
  /** A connection of its own to the leases file; null for a file whose commits are not counted. */
  marks: Database | null;
  /** Sends the outcomes of a group on their way. */
  onCommitted(): void;
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
  readonly #folder: string;
  /** What the WAL holds that the file does not: so much the file has yet to grow by, at most. */
  #walBytes = 0;
  #checkpointAtBytes = CHECKPOINT_MIN_BYTES;

  /** Throws StoreError or an error of node:sqlite. */
  constructor({ marks, onCommitted, ...options }: StoreFileOptions) {
    const schema = marks === null ? options.schema : options.schema + COMMITS_SCHEMA;
    this.database = new Database({ ...options, schema });
    this.#folder = dirname(options.path);
    let highWater: HighWater | null = null;
    try {
      if (marks !== null) highWater = new HighWater(marks, this.database);
    } catch (error) {
      this.database.close();
      throw error;
    }
    this.#commit = new GroupCommit({
      database: this.database,
      hasRoom: (bytes) => this.#hasRoom(bytes),
      beforeCommit: () => highWater?.count(),
      afterCommit: () => {
        onCommitted();
        highWater?.mark();
        this.database.forgetCache();
        this.#walBytes = this.database.walBytes;
        if (this.#walBytes >= this.#checkpointAtBytes) this.#checkpoint();
      },
    });
    this.#timer = setInterval(() => this.#checkpoint(), CHECKPOINT_EVERY_MS);
  }

  submit(operation: () => unknown, bytes: number, settle: (outcome: Outcome) => void): void {
    this.#commit.submit(operation, bytes, settle);
  }

  /** Commits what waits, then closes the file. */
  close(): void {
    clearInterval(this.#timer);
    this.#commit.drain();
    this.database.close();
  }

  #hasRoom(bytes: number): boolean {
    const hasRoom = () => this.#freeBytes() >= this.#walBytes + 2 * bytes + RESERVE_BYTES;
    if (hasRoom()) return true;
    // A WAL that was taken over is written again from its beginning.
    this.#checkpoint();
    return hasRoom();
  }

  #checkpoint(): void {
    try {
      // Others write to it as well.
      this.#walBytes = this.database.walBytes;
      if (this.#walBytes > 0) this.#walBytes = this.database.checkpoint();
    } catch (error) {
      // The WAL still has it all.
      if (!isOfSqlite(error)) throw error;
    }
    this.#checkpointAtBytes = this.#walBytes + CHECKPOINT_MIN_BYTES;
  }

  #freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.#folder);
      return bavail * bsize;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }
}
