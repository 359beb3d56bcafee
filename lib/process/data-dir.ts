import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { type HeldLock, takeLock } from './data-dir-lock.ts';

/** The message is one sentence for the operator. */
export class DataDirError extends Error {
  override name = 'DataDirError';
}

/**
 * What lies here is made by the kernel, and some of it takes a new folder as if it could keep one.
 */
const NOT_ON_DISK = ['/proc', '/sys', '/dev'];
const NO_ROOM = ['ENOSPC', 'EDQUOT'];
const MAKE_ROOM = 'make some MiB of room there, start again, and then delete what you do not need';
/** A file system in memory, which may be what the operator wants. */
const SHARED_MEMORY = '/dev/shm';

/**
 * Makes the data directory if need be, for its owner only, and locks it for this process until
 * `release`. The lock of a process that was killed is taken over. Throws DataDirError when a living
 * process holds it, or when the folder cannot be made or written.
 */
export async function lockDataDir(folder: string): Promise<HeldLock> {
  let taken: Awaited<ReturnType<typeof takeLock>>;
  try {
    await makeFolder(folder);
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
 * What to say of a start that failed because a file lies where Provec has a folder of its own:
 * which one, and what to do. Any other error as it is.
 */
export function sayingWhatIsInTheWay(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, path } = at as NodeJS.ErrnoException;
    if (path === undefined || code !== 'EEXIST') continue;
    const message = `${path} is a file, but Provec keeps a folder there; move the file away and start again.`;
    return new DataDirError(message, { cause: error });
  }
  return error;
}

/**
 * Folder by folder: Node's own way to make several at once tries for ever where the system says
 * that a parent is missing which is there.
 */
async function makeFolder(folder: string): Promise<void> {
  const existing = await nearestExisting(resolve(folder));
  if (!existing.isFolder) {
    const what = existing.path === resolve(folder) ? 'is' : `cannot be made: ${existing.path} is`;
    throw new DataDirError(
      `The data directory ${folder} ${what} a file, not a folder; set PROVEC_DATA_DIR to a folder.`,
    );
  }
  const missing = relative(existing.path, resolve(folder));
  const real = join(await realpath(existing.path), missing);
  const outside = NOT_ON_DISK.find((root) => isWithin(real, root) && !isWithin(real, SHARED_MEMORY));
  if (outside !== undefined) {
    throw new DataDirError(
      `The data directory ${folder} lies in ${outside}, which cannot keep files; set PROVEC_DATA_DIR to a folder on a disk.`,
    );
  }
  if (missing === '') return;
  let made = existing.path;
  for (const name of missing.split(sep)) {
    made = join(made, name);
    // What is made here gets its mode; a folder that was there keeps its own, as the operator may
    // share it on purpose.
    await mkdir(made, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      // Another process that starts at the same time; the lock decides between them.
      if (error.code !== 'EEXIST') throw error;
    });
  }
  await chmod(made, 0o700);
}

async function nearestExisting(path: string): Promise<{ path: string; isFolder: boolean }> {
  for (let at = path; ; at = dirname(at)) {
    const found = await stat(at).catch((error: NodeJS.ErrnoException) => {
      // Either says that it is not there: the second that what should hold it is a file.
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
      throw error;
    });
    if (found !== null) return { path: at, isFolder: found.isDirectory() };
  }
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}
