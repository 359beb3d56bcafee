import { mkdir, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';

/**
 * Makes a folder, for its owner only, and whatever it lies in; the first that it had to make, or
 * null. Folder by folder: Node's own way to make several at once tries for ever where the system
 * says that a parent is missing which is there, as `/proc` does. Throws an error of the system.
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
      // Another process that makes it at the same time.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  return first;
}

/** What there is of a path. */
export async function nearestExisting(path: string): Promise<{ path: string; isFolder: boolean }> {
  for (let at = path; ; at = dirname(at)) {
    const found = await stat(at).catch((error: NodeJS.ErrnoException) => {
      // Either says that it is not there: the second that what should hold it is a file.
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
      throw error;
    });
    if (found !== null) return { path: at, isFolder: found.isDirectory() };
  }
}
