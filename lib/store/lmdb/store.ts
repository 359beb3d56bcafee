import { mkdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Store, StoreError } from '../port.ts';
import { LmdbAnchors } from './anchors.ts';
import { LmdbCatalog } from './catalog.ts';
import { FolderCheckpoints } from './checkpoints.ts';
import { LmdbContradictions } from './contradictions.ts';
import { Environment, type Table } from './environment.ts';
import { checkFormat, writeFormat } from './format-file.ts';
import { LmdbKeys } from './keys.ts';
import { checkLmdbFile, reserveLockFile } from './lmdb-file.ts';
import { LmdbLog } from './log.ts';
import { LmdbLeases, LmdbOwners } from './owners.ts';
import { LmdbRecords } from './records.ts';
import { idPart, prefixRange } from './row-key.ts';
import { storeFailure } from './store-failure.ts';
import { LmdbUsage } from './usage.ts';

const LOG_FILE = 'log.mdb';
const RECORDS_FILE = 'records.mdb';
const DROP_SLICE_ROWS = 500;

/**
 * Opens the embedded store in `folder`, making it if need be. Two environments, so that the materialiser's commits never delay an append: `log.mdb` holds
 * everything small and urgent, `records.mdb` the materialised records. The caller holds the lock of the data directory, or a part of it
 * where several processes share the store: then each has a folder of its own for `staging` checkpoints. Throws StoreError.
 */
export async function openLmdbStore(folder: string, staging?: string): Promise<Store> {
  const opened: Environment[] = [];
  try {
    const made = await checkFiles(folder);
    const checkpoints = new FolderCheckpoints(join(folder, 'checkpoints'), staging);
    await checkpoints.open();
    for (const file of [LOG_FILE, RECORDS_FILE]) await reserveLockFile(join(folder, `${file}-lock`));
    const main = new Environment(join(folder, LOG_FILE), 'the log');
    opened.push(main);
    const materialised = new Environment(join(folder, RECORDS_FILE), 'the records');
    opened.push(materialised);
    const store = assemble(folder, main, materialised, checkpoints);
    if (!made) await writeFormat(folder);
    return store;
  } catch (error) {
    for (const env of opened) await env.close();
    throw storeFailure(error, `opening ${folder}`);
  }
}

/** Whether the folder holds a store already. Makes the folder. Throws StoreError 'damaged'. */
async function checkFiles(folder: string): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const made = await checkFormat(folder);
  const hasLog = await checkLmdbFile(join(folder, LOG_FILE));
  const hasRecords = await checkLmdbFile(join(folder, RECORDS_FILE));
  // The format file is written last and the log is made first: a start that was cut short leaves no other combination.
  if (made || hasRecords) {
    if (!hasLog) throw missingFile(LOG_FILE);
    if (!hasRecords) throw missingFile(RECORDS_FILE);
  }
  return made;
}

function assemble(folder: string, main: Environment, materialised: Environment, checkpoints: FolderCheckpoints): Store {
  const usage = new LmdbUsage(main);
  const keys = new LmdbKeys(main);
  const log = new LmdbLog(main, usage);
  const records = new LmdbRecords(materialised);
  const contradictions = new LmdbContradictions(main);
  const owners = new LmdbOwners(main);
  return {
    catalog: new LmdbCatalog(main, keys, usage),
    keys,
    log,
    records,
    checkpoints,
    usage,
    anchors: new LmdbAnchors(main),
    contradictions,
    owners,
    leases: new LmdbLeases(main),

    async freeBytes() {
      try {
        const { bavail, bsize } = await statfs(folder);
        return bavail * bsize;
      } catch (error) {
        throw storeFailure(error, 'measuring free space');
      }
    },

    async dropCollectionData(collectionId) {
      await main.write(() => usage.takeOffShare(collectionId));
      // The log first: as long as it is there, records could be made from it again.
      for (const table of [...log.tables, ...contradictions.tables, ...owners.tables])
        await clear(main, table, collectionId);
      for (const table of records.tables) await clear(materialised, table, collectionId);
      await checkpoints.drop(collectionId);
    },

    async close() {
      checkpoints.close();
      await Promise.all([main.close(), materialised.close()]);
    },
  };
}

function missingFile(name: string): StoreError {
  return new StoreError(
    'damaged',
    `${name} is missing in the data directory: put back a backup of the whole directory, or start with an empty one.`,
  );
}

/** Removes a collection's rows of a table in slices, so that neither the event loop nor other writers wait long. */
async function clear(env: Environment, table: Table, collectionId: string): Promise<void> {
  const range = { ...prefixRange(idPart(collectionId)), limit: DROP_SLICE_ROWS };
  const removeSlice = () => {
    const keys = [...table.getKeys(range)].map((key) => Buffer.from(key));
    for (const key of keys) table.removeSync(key);
    return keys.length;
  };
  while ((await env.write(removeSlice)) === DROP_SLICE_ROWS);
}
