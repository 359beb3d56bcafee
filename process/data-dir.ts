import { chmod, realpath } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { makeFolder, nearestExisting } from '../lib/host/make-folder.ts';
import { type DirectoryLock, takeLock } from './data-dir-lock.ts';

/** Error for the operator; its message is one sentence. */
export class DataDirError extends Error {
  override name = 'DataDirError';
}

/**
 * The kernel generates the files here. Some of these file systems accept a new folder but do not
 * keep it.
 */
const NOT_ON_DISK = ['/proc', '/sys', '/dev'];
const NO_ROOM = ['ENOSPC', 'EDQUOT'];
const MAKE_ROOM = 'free a few MiB there, start again, and then delete what you do not need';
/** A file system in memory, which the operator may have chosen on purpose. */
const SHARED_MEMORY = '/dev/shm';

/**
 * Creates the data directory if needed, for its owner only, and locks it for this process until
 * `release`. Takes over the lock of a killed process. Throws DataDirError if a living process holds
 * the lock, or the folder cannot be created or written.
 */
export async function lockDataDir(folder: string): Promise<DirectoryLock> {
  let taken: Awaited<ReturnType<typeof takeLock>>;
  try {
    await makeDataDir(folder);
    taken = await takeLock(folder);
  } catch (error) {
    if (error instanceof DataDirError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const why = NO_ROOM.includes(code ?? '') ? `its disk is full: ${MAKE_ROOM}` : (code ?? message);
    throw new DataDirError(`The data directory ${folder} cannot be used (${why}).`, { cause: error });
  }
  if ('lock' in taken) return taken.lock;
  throw new DataDirError(
    `The data directory ${folder} is in use by process ${taken.holder.pid}; stop it or set PROVEC_DATA_DIR to another folder.`,
  );
}

/**
 * Returns an error that names the file if startup failed because a file is where Provec keeps a
 * folder, and says what to do; returns any other error unchanged.
 */
export function withStartupHint(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, path } = at as NodeJS.ErrnoException;
    if (path === undefined || code !== 'EEXIST') continue;
    const message = `${path} is a file, but Provec needs a folder there; move the file away and start again.`;
    return new DataDirError(message, { cause: error });
  }
  return error;
}

async function makeDataDir(folder: string): Promise<void> {
  const existing = await nearestExisting(resolve(folder));
  if (!existing.isFolder) {
    const what = existing.path === resolve(folder) ? 'is' : `cannot be created: ${existing.path} is`;
    throw new DataDirError(
      `The data directory ${folder} ${what} a file, not a folder; set PROVEC_DATA_DIR to a folder.`,
    );
  }
  const missing = relative(existing.path, resolve(folder));
  const real = join(await realpath(existing.path), missing);
  const outside = NOT_ON_DISK.find((root) => isWithin(real, root) && !isWithin(real, SHARED_MEMORY));
  if (outside !== undefined) {
    throw new DataDirError(
      `The data directory ${folder} is in ${outside}, which cannot keep files; set PROVEC_DATA_DIR to a folder on a disk.`,
    );
  }
  if (missing === '') return;
  await makeFolder(folder);
  // An existing folder keeps its mode, because the operator may share it on purpose.
  await chmod(folder, 0o700);
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}
