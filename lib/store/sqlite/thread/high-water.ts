/**
 * Tells a file that has lost commits. SQLite takes a WAL up to its first frame that does not match
 * its checksum for the whole of it, so that one changed byte silently undoes every later commit;
 * and an older copy of a file, or one without its WAL, looks sound as well. So each file counts its
 * commits within itself, and a small file beside it keeps the highest count that was committed.
 *
 * The mark is written before the outcomes of a commit are told, without a sync: it survives the end
 * of the process, and may fall back when the machine goes down, or when two processes write it at
 * once, until the next commit: a mark that is too low tells of no loss that did not happen. Without
 * a mark nothing is told: that is how an operator accepts a loss.
 */
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { NO_FOLLOW } from '../../../process/own-files.ts';
import { damagedFile } from '../store-failure.ts';
import type { Database } from './database.ts';

export const COMMITS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS commits (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL) STRICT;
  INSERT INTO commits VALUES (1, 0) ON CONFLICT DO NOTHING;
`;

/** `1234567` and blanks, and the end of the line. */
const MARK_BYTES = 32;

export class HighWater {
  readonly #name: string;
  readonly #mark: number;
  /** With the transaction under way. */
  #next = 0;

  /** `path` is that of the mark; it is made if need be. Throws an error of the file system. */
  constructor(path: string, name: string) {
    this.#name = name;
    this.#mark = openSync(path, constants.O_RDWR | constants.O_CREAT | NO_FOLLOW, 0o600);
    // Its place on the disk is taken now.
    if (fstatSync(this.#mark).size < MARK_BYTES) this.#write(0);
  }

  /** Throws StoreError 'damaged' when the file behind the connection lacks commits. */
  check(connection: DatabaseSync): void {
    // In this order: other processes go on committing meanwhile.
    const mark = this.#read();
    const count = countIn(connection);
    if (Number.isNaN(count))
      throw damagedFile(this.#name, 'has no whole number in commits.count, in the row whose rowid is 1');
    if (count >= mark) return;
    throw damagedFile(
      this.#name,
      `lacks the last ${mark - count} of ${mark} commits that were acknowledged (a part of it was changed, or it is an older copy)`,
      `put back a backup of the whole directory, or delete ${this.#name}-mark to go on without those commits`,
    );
  }

  /** Within a transaction of the file. */
  count(file: Database): void {
    this.#next = file.get<{ count: number }>('UPDATE commits SET count = count + 1 RETURNING count')?.count ?? 0;
  }

  /** It was committed. */
  committed(): void {
    try {
      this.#write(Math.max(this.#next, this.#read()));
    } catch {
      // The commit stands; the next one marks it.
    }
  }

  close(): void {
    closeSync(this.#mark);
  }

  #write(count: number): void {
    writeSync(this.#mark, markText(count), 0);
  }

  /** 0 when there is none, or none that can be read. */
  #read(): number {
    const bytes = Buffer.alloc(MARK_BYTES);
    readSync(this.#mark, bytes, 0, MARK_BYTES, 0);
    const mark = Number(bytes.toString('latin1').replace(/\0/g, ' '));
    return Number.isSafeInteger(mark) ? mark : 0;
  }
}

/** What a mark of so many commits holds. */
export const markText = (count: number): string => `${String(count).padEnd(MARK_BYTES - 1)}\n`;

/** Commits that a file has; NaN if it does not count them by a whole number. */
export function countIn(connection: DatabaseSync): number {
  const sql = "SELECT CAST(iif(typeof(count) = 'integer', count, NULL) AS REAL) AS count FROM commits";
  const row = connection.prepare(sql).get() as { count: number | null } | undefined;
  return row === undefined ? 0 : (row.count ?? Number.NaN);
}
