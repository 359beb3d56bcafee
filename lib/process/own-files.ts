/**
 * Files that Provec keeps in its data directory are files of that directory. Whoever can write
 * there and nowhere else could have a link stand in the place of one, and so have Provec write
 * where he cannot.
 */
import { constants } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../config.ts';
import { DataDirError } from './data-dir.ts';

/** For `open`; 0 where the system has no such flag. It fails where the path ends in a link. */
export const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
/** For `open`: what is written there takes the place of what was in the file. */
export const REWRITTEN = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | NO_FOLLOW;
/** The operator's, who may keep them elsewhere; as are those that the configuration names. */
const MAY_BE_LINKS = ['secret', 'ledger-keypair.json'];

/**
 * Throws DataDirError where something in the data directory is a symbolic link. The directory
 * itself may be one, and need not be there.
 */
export async function refuseLinks({
  dataDir,
  secretFile,
  solanaKeypair,
}: Pick<Config, 'dataDir' | 'secretFile' | 'solanaKeypair'>): Promise<void> {
  const named = [secretFile, solanaKeypair].flatMap((file) => (file === null ? [] : resolve(file)));
  const mayBeLinks = new Set([...MAY_BE_LINKS.map((name) => resolve(dataDir, name)), ...named]);
  for (const folders = [dataDir]; folders.length > 0; ) {
    const folder = folders.pop()!;
    // Other processes of the store make and remove things meanwhile.
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      if (!entry.isSymbolicLink() || mayBeLinks.has(resolve(path))) continue;
      throw new DataDirError(
        `The data directory has a symbolic link at ${path}, and Provec does not write through links: replace the link with what it points to, or mount a disk there.`,
      );
    }
  }
}

/** The first of the paths that is a symbolic link; null when none is. */
export async function linkAmong(paths: string[]): Promise<string | null> {
  for (const path of paths) if ((await lstat(path).catch(() => null))?.isSymbolicLink()) return path;
  return null;
}
