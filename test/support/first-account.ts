import { inStoreFile } from './store-file.ts';

/** Id of the account that the first start created in a data folder. */
export function firstAccountIn(folder: string): string {
  const sql = "SELECT id FROM accounts WHERE name = 'default'";
  return inStoreFile(folder, 'log.db', (file) => (file.prepare(sql).get() as { id: string }).id);
}
