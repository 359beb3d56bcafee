import { cp, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { examples } from '../option-values.ts';
import { inSession } from '../session.ts';

/** Marker files of a complete backup and of one in progress. */
const [FORMAT_FILE, UNDER_WAY] = ['provec.json', 'backup-under-way'];
/** Files whose content a start asks for if they are missing. */
const SECRETS = ['secret', 'ledger-keypair.json'];

export const restoreCommand = (): Command =>
  new Command('restore')
    .description('copy a backup to an empty data folder, on this machine')
    .argument('<backup>', 'folder of the backup')
    .argument('<folder>', 'the data folder; it must be empty or missing')
    .addHelpText('after', examples('provec restore /mnt/backups/monday ./data-of-monday'))
    .action(
      inSession(async (session, backup: string, target: string) => {
        const names = await readdir(backup);
        if (names.includes(UNDER_WAY))
          throw new InputError(`${backup} is not complete: it was cut short, or is being made.`);
        if (!names.includes(FORMAT_FILE)) throw new InputError(`${backup} is not a backup.`);
        const folder = resolve(target);
        if ((await namesIn(folder)).length > 0) throw new InputError(`${folder} is not empty.`);
        await cp(backup, folder, { recursive: true, force: false, errorOnExist: true, preserveTimestamps: true });
        const missing = SECRETS.filter((name) => !names.includes(name));
        await session.print({ folder, missing }, () => [
          `Restored to ${folder}.`,
          ...(missing.length === 0 ? [] : [`The backup does not have: ${missing.join(', ')}. Put them there first.`]),
          `Start it with PROVEC_DATA_DIR=${folder} provec start`,
        ]);
      }),
    );

/** Returns the names in a folder, or none if the folder is missing. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
