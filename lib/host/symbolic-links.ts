import { constants } from 'node:fs';
import { lstat } from 'node:fs/promises';

/**
 * Flag for `open`, which then fails if the path ends in a link; 0 if the system has no such flag.
 */
export const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
/** Flags for `open` to replace the content of a file. */
export const OVERWRITE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | NO_FOLLOW;

/** Returns the first of the paths that is a symbolic link; null if none is. */
export async function firstSymbolicLink(paths: string[]): Promise<string | null> {
  // A path that cannot be looked up is no link; opening it reports why.
  for (const path of paths) if ((await lstat(path).catch(() => null))?.isSymbolicLink()) return path;
  return null;
}
