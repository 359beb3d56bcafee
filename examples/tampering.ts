import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Tampers like an attacker with the disk in hand: finds `bytes` in the files under `folder` and
 * overwrites them with `instead`, of the same length. Returns the number of places changed.
 */
export function overwriteBytes(folder: string, bytes: Buffer, instead: Buffer): number {
  if (bytes.length !== instead.length) throw new Error('both must have the same length');
  let places = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const content = readFileSync(path);
    let changed = 0;
    for (let at = content.indexOf(bytes); at >= 0; at = content.indexOf(bytes, at + bytes.length)) {
      instead.copy(content, at);
      changed++;
    }
    if (changed > 0) writeFileSync(path, content);
    places += changed;
  }
  return places;
}

/**
 * Moves recent writes from the write-ahead logs into the database files, which have no checksums.
 */
export function foldWriteAheadLogs(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.endsWith('.db')) {
      const file = new DatabaseSync(join(folder, name));
      file.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      file.close();
    }
  }
}
