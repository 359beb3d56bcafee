import { mkdir, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { systemCode } from './system-error.ts';

/**
 * Creates a folder and its missing parents, for their owner only; returns the first one created, or
 * null. Creates them one by one: Node's recursive `mkdir` never ends if the system reports an
 * existing parent as missing, as `/proc` does. Throws system errors.
 */
export async function makeFolder(folder: string): Promise<string | null> {
  const existing = await nearestExisting(resolve(folder));
  const missing = relative(existing.path, resolve(folder));
  let first: string | null = null;
  let made = existing.path;
  for (const name of missing === '' ? [] : missing.split(sep)) {
    made = join(made, name);
    try {
      await mkdir(made, { mode: 0o700 });
      first ??= made;
    } catch (error) {
      // Another process created it at the same time.
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  }
  return first;
}

/** Returns the longest existing part of a path. */
export async function nearestExisting(path: string): Promise<{ path: string; isFolder: boolean }> {
  for (let at = path; ; at = dirname(at)) {
    const found = await stat(at).catch((error: NodeJS.ErrnoException) => {
      // Both mean that the path does not exist; with ENOTDIR a parent is a file.
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
      throw error;
    });
    if (found !== null) return { path: at, isFolder: found.isDirectory() };
  }
}
