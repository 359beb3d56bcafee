/**
 * Tells a file that has lost commits. SQLite takes a WAL up to its first frame that does not match its checksum for the whole
 * of it, so that one changed byte silently undoes every later commit; an older copy of a file put in place of it looks sound as
 * well. So each file counts its commits within itself, and the leases file keeps the highest count that was acknowledged.
 *
 * The mark is written without a sync, after the outcomes were told: it never makes a commit wait, survives the end of the
 * process, and lags at most behind what the machine lost when it went down, which is harmless: a mark that is too low tells of
 * no loss that did not happen.
 */
import { damagedFile, isOfSqlite } from '../store-failure.ts';
import type { Database } from './database.ts';

export const COMMITS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS commits (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL) STRICT;
  INSERT INTO commits VALUES (1, 0) ON CONFLICT DO NOTHING;
`;

export class HighWater {
  readonly #marks: Database;
  readonly #file: Database;
  #count = 0;
  #written = 0;

  /** `marks` is a connection of its own to the leases file. Throws StoreError 'damaged' when `file` lacks commits. */
  constructor(marks: Database, file: Database) {
    this.#marks = marks;
    this.#file = file;
    // In this order: other processes go on committing meanwhile.
    const mark =
      marks.get<{ commits: number }>('SELECT commits FROM high_water WHERE file = ?', file.name)?.commits ?? 0;
    const count = file.get<{ count: number }>('SELECT count FROM commits')?.count ?? 0;
    if (count < mark) {
      throw damagedFile(
        file.name,
        `lacks the last ${mark - count} of ${mark} commits that were acknowledged (a part of it was changed, or it is an older copy)`,
      );
    }
  }

  /** Within a transaction of the file. */
  count(): void {
    this.#count = this.#file.get<{ count: number }>('UPDATE commits SET count = count + 1 RETURNING count')?.count ?? 0;
  }

  /** After its commit. Left for the next time while the leases file cannot be written. */
  mark(): void {
    if (this.#count === this.#written) return;
    try {
      this.#marks.run(
        'INSERT INTO high_water VALUES (?, ?) ON CONFLICT (file) DO UPDATE SET commits = max(commits, excluded.commits)',
        this.#file.name,
        this.#count,
      );
      this.#written = this.#count;
    } catch (error) {
      if (!isOfSqlite(error)) throw error;
    }
  }
}
