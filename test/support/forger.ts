import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Seals } from '../../lib/secret/seals.ts';
import type { Store } from '../../store/port.ts';
import { FORMAT_FILE, writeFormat } from '../../store/sqlite/format-file.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { FORGED_KEYS } from './store-keys.ts';

/**
 * Opens the embedded store of `folder` as a forger who can write there and has the program, but not
 * the secret: everything written is valid except for the seals. The caller closes it.
 */
export async function openStoreAsForger(folder: string): Promise<Store> {
  const mark = join(folder, FORMAT_FILE);
  const own = await readFile(mark);
  await writeFormat(folder, new Seals(FORGED_KEYS.installation));
  try {
    return await openSqliteStore(folder, { keys: FORGED_KEYS, nodeFolder: join(folder, 'forged') });
  } finally {
    await writeFile(mark, own);
  }
}
