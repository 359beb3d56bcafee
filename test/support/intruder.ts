import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A vector's bytes as the store, the log and checkpoints contain it. */
export const float32Bytes = (values: number[]) => Buffer.from(Float32Array.from(values).buffer);

/**
 * Tampers with the files under `folder` like an attacker with the disk in hand: overwrites every
 * occurrence of `bytes` with `instead` in place, so that a service with the file open sees it, too.
 * `files` matches file names. Returns the number of places changed.
 */
export function tamperOnDisk(
  folder: string,
  bytes: Buffer | string,
  instead: Buffer | string,
  files: RegExp = /./,
): number {
  const [from, to] = [Buffer.from(bytes), Buffer.from(instead)];
  if (from.length !== to.length) throw new RangeError('what is overwritten keeps its length');
  let places = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !files.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const content = readFileSync(path);
    const file = openSync(path, 'r+');
    for (let at = content.indexOf(from); at >= 0; at = content.indexOf(from, at + from.length)) {
      writeSync(file, to, 0, to.length, at);
      places += 1;
    }
    closeSync(file);
  }
  return places;
}
