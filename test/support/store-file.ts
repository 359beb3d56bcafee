import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export type StoreFile = 'log.db' | 'records.db';

/**
 * Runs `work` on one file of a SQLite store, opened like an attacker with the disk in hand would.
 */
export function inStoreFile<T>(folder: string, name: StoreFile, work: (file: DatabaseSync) => T): T {
  const file = new DatabaseSync(join(folder, name), { timeout: 5_000 });
  try {
    return work(file);
  } finally {
    file.close();
  }
}
