import { existsSync, type StatsFs } from 'node:fs';
import { mkdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { StoreKeys } from '../../lib/secret/keyring.ts';
import { Seals } from '../../lib/secret/seals.ts';
import type { StoredAliases } from '../aliases.ts';
import type { StoredCatalog } from '../catalog.ts';
import { ChainedAudit } from '../chained-audit.ts';
import { CrashGuardedCheckpoints, MARKS_FOLDER } from '../crash-guarded-checkpoints.ts';
import { firstKeyMark, newMark } from '../first-key.ts';
import { ForgedRows } from '../forged-rows.ts';
import type { Store } from '../port.ts';
import { sealedAliases } from '../sealed-aliases.ts';
import { sealedAuditLinks } from '../sealed-audit-links.ts';
import { SealedCatalog } from '../sealed-catalog.ts';
import { sealedKeys } from '../sealed-keys.ts';
import { sealedPlans } from '../sealed-plans.ts';
import { anchorsOf } from './anchors.ts';
import { copyStore } from './backup.ts';
import { FolderCheckpoints } from './checkpoints.ts';
import { firstKeyOf } from './first-key.ts';
import { checkInstallation, readFormatFile, writeFormat } from './format-file.ts';
import { keysOf } from './keys.ts';
import { logOf } from './log.ts';
import { inSlices, pages, SLICE_ROWS } from './pages.ts';
import { recordsOf } from './records.ts';
import type { Role } from './requests.ts';
import { damagedFile, sqliteFailure } from './store-failure.ts';
import { StoreThread } from './store-thread.ts';

export interface SqliteStoreOptions {
  keys: StoreKeys;
  /** Logs rows and files that the service did not write. */
  log?: Pick<Logger, 'error'>;
  /**
   * Folder for checkpoints being written or read. It belongs to this node alone and must persist
   * across restarts. Default: a folder within the store's own.
   */
  nodeFolder?: string;
  /** Maximum number of pages per file, to simulate a small disk; for tests. */
  maxPages?: number | null;
}

const FILES = ['log.db', 'records.db'];
const DROP_SLICE_ROWS = 500;
const MISTYPED = 'a stored row has a value of another type than its column; the service does not use the row';

/**
 * Opens the embedded store in `folder`, and creates it if needed. `log.db` holds everything small
 * and urgent, `records.db` the materialised records, `leases.db` the leases; a mark file beside
 * each of the first two holds the number of commits that it must have. Several processes of one
 * machine may open it. `keys` are those of the secret that the store was made under, or of a newer
 * secret together with that one. The caller holds the lock of the data directory; processes that
 * share the store each hold the lock of their part and have their own `nodeFolder`. Throws
 * StoreError.
 */
export async function openSqliteStore(folder: string, options: SqliteStoreOptions): Promise<Store> {
  const root = join(folder, 'checkpoints');
  const { keys, log: logger, nodeFolder = root, maxPages = null } = options;
  const threads: StoreThread[] = [];
  try {
    const installation = new Seals(keys.installation);
    const made = await checkFiles(folder, installation);
    const folders = new FolderCheckpoints(root, new Seals(keys.checkpoints), join(nodeFolder, 'staging'), logger);
    await folders.open();
    const checkpoints = new CrashGuardedCheckpoints(folders, join(nodeFolder, MARKS_FOLDER));
    await checkpoints.open(logger);
    const open = async (role: Role): Promise<StoreThread> => {
      const thread = await StoreThread.open({ role, folder, keys, made, maxPages });
      threads.push(thread);
      for (const difference of thread.mistyped) logger?.error({ difference }, MISTYPED);
      return thread;
    };
    const opening = [open('log'), open('records')] as const;
    // Waits for both, so that a failure of one closes the other.
    await Promise.allSettled(opening);
    const [log, records] = await Promise.all(opening);
    const store = assemble(folder, log, records, { folders, checkpoints }, options);
    if (!made) await writeFormat(folder, installation, newMark(installation));
    return store;
  } catch (error) {
    await Promise.all(threads.map((thread) => thread.close()));
    throw sqliteFailure(error, `opening ${folder}`);
  }
}

/**
 * Returns whether the folder holds a store. Throws StoreError 'damaged' if it has another format.
 */
export async function isStoreMade(folder: string): Promise<boolean> {
  return (await readFormatFile(folder)) !== null;
}

/**
 * Returns whether the folder already holds a store, of this installation; creates the folder.
 * Throws StoreError 'damaged'.
 */
async function checkFiles(folder: string, installation: Seals): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!(await isStoreMade(folder))) return false;
  await checkInstallation(folder, installation);
  const missing = FILES.find((name) => !existsSync(join(folder, name)));
  if (missing !== undefined) throw damagedFile(missing, 'is missing');
  return true;
}

function assemble(
  folder: string,
  log: StoreThread,
  materialised: StoreThread,
  { folders, checkpoints }: { folders: FolderCheckpoints; checkpoints: CrashGuardedCheckpoints },
  { keys, log: logger }: SqliteStoreOptions,
): Store {
  const forged = new ForgedRows(logger);
  const aliases = aliasesOf(log);
  const usage = log.remote('usage');
  const logTables = log.remote('log');
  const recordTables = materialised.remote('records');
  const contradictions = log.remote('contradictions');
  const owners = log.remote('owners');
  const auditLinks = log.remote('auditLinks');
  return {
    catalog: new SealedCatalog({ catalog: catalogOf(log), aliases }, new Seals(keys.catalog), forged),
    aliases: sealedAliases(aliases, new Seals(keys.catalog), forged),
    plans: sealedPlans(log.remote('plans'), new Seals(keys.catalog), forged),
    keys: sealedKeys(keysOf(log), new Seals(keys.apiKeys), forged),
    firstKey: firstKeyMark(firstKeyOf(folder, [log, materialised]), new Seals(keys.installation)),
    log: logOf(log),
    records: recordsOf(materialised),
    checkpoints,
    usage,
    anchors: anchorsOf(log, forged),
    contradictions,
    audit: new ChainedAudit(log.remote('audit'), new Seals(keys.audit), forged),
    auditLinks: sealedAuditLinks(auditLinks, new Seals(keys.apiKeys), forged),
    owners,
    leases: log.remote('leases'),

    async reach() {
      await Promise.all([log, materialised].map((thread) => thread.remote('thread').reach()));
    },

    async freeBytes() {
      const { bavail, bsize } = await measure(folder);
      return bavail * bsize;
    },

    async diskBytes() {
      const { blocks, bsize } = await measure(folder);
      return blocks * bsize;
    },

    async dropCollectionData(collectionId) {
      await usage.subtractShare(collectionId);
      // The log goes first, because records could be rebuilt from it.
      while (!(await logTables.dropSlice(collectionId, DROP_SLICE_ROWS)));
      await contradictions.clear(collectionId);
      await owners.drop(collectionId);
      await auditLinks.removeAll(collectionId);
      while (!(await recordTables.dropSlice(collectionId, DROP_SLICE_ROWS)));
      await folders.drop(collectionId);
    },

    backup: (target, beside) => copyStore({ folder, target, files: FILES, beside }),

    async close() {
      await Promise.all([checkpoints.close(), folders.close(), log.close(), materialised.close()]);
    },
  };
}

function measure(folder: string): Promise<StatsFs> {
  return statfs(folder).catch((error: unknown) => {
    throw sqliteFailure(error, 'measuring the disk');
  });
}

function catalogOf(thread: StoreThread): StoredCatalog {
  const { collectionsAfter, collectionsPage, accountsPage } = thread.remote('catalog');
  const own: Pick<StoredCatalog, 'allCollections' | 'collectionsPage' | 'accountsPage'> = {
    allCollections: () =>
      pages(
        (after) => collectionsAfter(after, SLICE_ROWS),
        ({ id }) => id,
        SLICE_ROWS,
      ),
    collectionsPage: (accountId, after, limit) =>
      inSlices((from, rows) => collectionsPage(accountId, from, rows), after, limit),
    accountsPage: (after, limit) => inSlices(accountsPage, after, limit),
  };
  return thread.remote('catalog', own);
}

function aliasesOf(thread: StoreThread): StoredAliases {
  const { page } = thread.remote('aliases');
  const own: Pick<StoredAliases, 'page'> = {
    page: (accountId, after, limit, collectionId) =>
      inSlices((from, rows) => page(accountId, from, rows, collectionId), after, limit),
  };
  return thread.remote('aliases', own);
}
