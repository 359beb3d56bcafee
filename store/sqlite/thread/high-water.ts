/**
 * Detects lost commits. SQLite reads a WAL only up to the first frame with a wrong checksum, so one
 * changed byte silently undoes all later commits. An older copy of a file, or one without its WAL,
 * also looks sound. So each file counts its commits, and a small mark file beside it keeps the
 * highest committed count.
 *
 * The mark is written, without a sync, before outcomes of a commit are reported. It survives the
 * process, but may fall back after a power loss or concurrent writes, until the next commit. A mark
 * that is too low never reports a loss by mistake. Without a mark no loss is reported: deleting it
 * is how an operator accepts a loss.
 */
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { NO_FOLLOW } from '../../../lib/host/symbolic-links.ts';
import { damagedFile } from '../store-failure.ts';
import type { Database } from './database.ts';

export const COMMITS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS commits (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL) STRICT;
  INSERT INTO commits VALUES (1, 0) ON CONFLICT DO NOTHING;
`;

/** A number such as `1234567`, padded with spaces, and a newline. */
const MARK_BYTES = 32;

export class HighWater {
  readonly #name: string;
  readonly #mark: number;
  /** Count of the current transaction. */
  #next = 0;

  /** `path` is the mark file, created if needed. Throws a file system error. */
  constructor(path: string, name: string) {
    this.#name = name;
    this.#mark = openSync(path, constants.O_RDWR | constants.O_CREAT | NO_FOLLOW, 0o600);
    // Reserves the space on the disk now.
    if (fstatSync(this.#mark).size < MARK_BYTES) this.#write(0);
  }

  /** Throws StoreError 'damaged' if the file behind the connection lacks commits. */
  check(connection: DatabaseSync): void {
    // The mark must be read first, because other processes may commit in between.
    const mark = this.#read();
    const count = countIn(connection);
    if (Number.isNaN(count))
      throw damagedFile(this.#name, 'has no whole number in commits.count, in the row whose rowid is 1');
    if (count >= mark) return;
    throw damagedFile(
      this.#name,
      `lacks the last ${mark - count} of ${mark} commits that were acknowledged (a part of it was changed, or it is an older copy)`,
      `put back a backup of the whole directory, or delete ${this.#name}-mark to continue without those commits`,
    );
  }

  /** Raises the count, within a transaction of the file. */
  count(file: Database): void {
    this.#next = file.get<{ count: number }>('UPDATE commits SET count = count + 1 RETURNING count')?.count ?? 0;
  }

  /** Raises the mark after the commit. */
  committed(): void {
    try {
      this.#write(Math.max(this.#next, this.#read()));
    } catch {
      // The commit stands; the next one updates the mark.
    }
  }

  close(): void {
    closeSync(this.#mark);
  }

  #write(count: number): void {
    writeSync(this.#mark, markText(count), 0);
  }

  #read(): number {
    const bytes = Buffer.alloc(MARK_BYTES);
    readSync(this.#mark, bytes, 0, MARK_BYTES, 0);
    const mark = Number(bytes.toString('latin1').replace(/\0/g, ' '));
    return Number.isSafeInteger(mark) ? mark : 0;
  }
}

export const markText = (count: number): string => `${String(count).padEnd(MARK_BYTES - 1)}\n`;

/** Commits that a file has; NaN if it does not count them by a whole number. */
export function countIn(connection: DatabaseSync): number {
  const sql = "SELECT CAST(iif(typeof(count) = 'integer', count, NULL) AS REAL) AS count FROM commits";
  const row = connection.prepare(sql).get() as { count: number | null } | undefined;
  return row === undefined ? 0 : (row.count ?? Number.NaN);
}
