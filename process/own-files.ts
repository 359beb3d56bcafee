/**
 * Protects the files in the data directory from symbolic links. Without this, an attacker who can
 * write only to the data directory could replace a file by a link and so make Provec write
 * elsewhere.
 */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ifMissing } from '../lib/host/system-error.ts';
import type { Config } from './config.ts';
import { DataDirError } from './data-dir.ts';

/** Files of the operator, who may keep them elsewhere, as those that the configuration names. */
const MAY_BE_LINKS = ['secret', 'ledger-keypair.json'];

/**
 * Throws DataDirError if anything in the data directory is a symbolic link. The directory itself
 * may be a link or missing.
 */
export async function refuseSymbolicLinks({
  dataDir,
  secretFile,
  solanaKeypair,
}: Pick<Config, 'dataDir' | 'secretFile' | 'solanaKeypair'>): Promise<void> {
  const named = [secretFile, solanaKeypair].flatMap((file) => (file === null ? [] : resolve(file)));
  const mayBeLinks = new Set([...MAY_BE_LINKS.map((name) => resolve(dataDir, name)), ...named]);
  const folders = [dataDir];
  // Folders that are found are appended.
  for (const folder of folders) {
    // Other processes of the store may remove a folder in the meantime.
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(ifMissing<Dirent[]>([]))) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      if (!entry.isSymbolicLink() || mayBeLinks.has(resolve(path))) continue;
      throw new DataDirError(
        `The data directory has a symbolic link at ${path}, and Provec does not write through links: replace the link with what it points to, or mount a disk there.`,
      );
    }
  }
}
