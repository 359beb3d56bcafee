import { join } from 'node:path';
import { type Document, MongoServerError } from 'mongodb';
import type { Logger } from 'pino';
import type { StoreKeys } from '../../lib/secret/keyring.ts';
import { Seals } from '../../lib/secret/seals.ts';
import { ChainedAudit } from '../chained-audit.ts';
import { CrashGuardedCheckpoints, MARKS_FOLDER } from '../crash-guarded-checkpoints.ts';
import { firstKeyMark } from '../first-key.ts';
import { ForgedRows } from '../forged-rows.ts';
import { LogSeals } from '../log-seals.ts';
import type { Store } from '../port.ts';
import { sealedAliases } from '../sealed-aliases.ts';
import { sealedAuditLinks } from '../sealed-audit-links.ts';
import { SealedCatalog } from '../sealed-catalog.ts';
import { sealedKeys } from '../sealed-keys.ts';
import { sealedPlans } from '../sealed-plans.ts';
import { MongoAliases } from './aliases.ts';
import { MongoAnchors } from './anchors.ts';
import { MongoAudit } from './audit.ts';
import { MongoAuditLinks } from './audit-links.ts';
import { MongoCatalog } from './catalog.ts';
import { GridCheckpoints } from './checkpoints.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { mongoContradictions } from './contradictions.ts';
import { idPart } from './document-id.ts';
import { MongoFirstKey } from './first-key.ts';
import { checkFormat } from './format.ts';
import { guarded } from './guarded.ts';
import { MongoKeys } from './keys.ts';
import { MongoLog } from './log.ts';
import { LogShards } from './log-shards.ts';
import { mongoLeases, mongoOwners } from './owners.ts';
import { MongoPlans } from './plans.ts';
import { MongoRecords } from './records.ts';
import { checkSchema, createIndexes } from './schema.ts';
import { mongoFailure } from './store-failure.ts';
import { TallyFolding } from './tally-folding.ts';
import { MongoUsage } from './usage.ts';

const CALL_TIMEOUT_MS = 10_000;
/**
 * Leases have their own connections and a shorter timeout. If renewals waited behind other calls, a
 * busy node would lose its shards, reopen them, and be busier still. A renewal that takes longer
 * than this is useless.
 */
const LEASE_CALL_TIMEOUT_MS = 5_000;
const LEASE_CONNECTIONS = 4;
/** Minimum number of deleted records of a shard before their space is reclaimed. */
const COMPACTION_MIN_TOMBSTONES = 1_000;

export interface MongoStoreOptions extends Partial<Omit<ConnectionOptions, 'url'>>, Pick<ConnectionOptions, 'url'> {
  /**
   * Folder for checkpoints being written or read. It belongs to this node alone and must persist
   * across restarts.
   */
  folder: string;
  /**
   * Keys of the secret that the store was made under, or of a newer secret together with that one.
   */
  keys: StoreKeys;
  /** Logs rows and files that the service did not write. */
  log?: Pick<Logger, 'error'>;
}

/**
 * Opens a store in a MongoDB database and creates missing collections and indexes. Any number of
 * processes may open it. Needs unique and sparse indexes, conditional updates, bulk writes and
 * GridFS, but no transactions. Throws StoreError 'unavailable' if no primary is found in time,
 * 'damaged' for another format or another secret.
 */
export async function openMongoStore(options: MongoStoreOptions): Promise<Store> {
  const connection = new Connection({ callTimeoutMs: CALL_TIMEOUT_MS, ...options });
  const leases = new Connection({
    ...options,
    callTimeoutMs: Math.min(options.callTimeoutMs ?? CALL_TIMEOUT_MS, LEASE_CALL_TIMEOUT_MS),
    maxConnections: LEASE_CONNECTIONS,
  });
  try {
    return await assemble(connection, leases, options);
  } catch (error) {
    await Promise.all([connection.close(), leases.close()]);
    throw mongoFailure(error, 'read', 'opening the store');
  }
}

async function assemble(
  connection: Connection,
  leases: Connection,
  { folder, keys: sealKeys, log: logger }: MongoStoreOptions,
): Promise<Store> {
  await checkFormat(connection, new Seals(sealKeys.installation));
  await checkSchema(connection.db);
  const shards = new LogShards(connection);
  const folding = new TallyFolding(connection, shards);
  const usage = new MongoUsage(connection, folding);
  const keys = new MongoKeys(connection, new Seals(sealKeys.apiKeys));
  const aliases = new MongoAliases(connection);
  const catalog = new MongoCatalog(connection, { aliases, keys, usage });
  const log = new MongoLog(connection, shards, folding, new LogSeals(sealKeys.log));
  const records = new MongoRecords(connection, COMPACTION_MIN_TOMBSTONES);
  const files = new GridCheckpoints(connection, new Seals(sealKeys.checkpoints), folder, logger);
  const checkpoints = new CrashGuardedCheckpoints(
    guarded(connection, 'checkpoints', files),
    join(folder, MARKS_FOLDER),
  );
  const contradictions = mongoContradictions(connection);
  const owners = mongoOwners(connection);
  const anchors = new MongoAnchors(connection);
  const auditLinks = new MongoAuditLinks(connection);
  const firstKey = new MongoFirstKey(connection);

  await createIndexes(connection.db);
  await files.open();
  await checkpoints.open(logger);
  const forged = new ForgedRows(logger);
  const stored = { catalog: guarded(connection, 'catalog', catalog), aliases: guarded(connection, 'aliases', aliases) };
  const sealedCatalog = new SealedCatalog(stored, new Seals(sealKeys.catalog), forged);
  await sealedCatalog.endDeletions();
  return {
    catalog: sealedCatalog,
    aliases: sealedAliases(stored.aliases, new Seals(sealKeys.catalog), forged),
    plans: sealedPlans(guarded(connection, 'plans', new MongoPlans(connection)), new Seals(sealKeys.catalog), forged),
    keys: sealedKeys(guarded(connection, 'keys', keys), new Seals(sealKeys.apiKeys), forged),
    firstKey: firstKeyMark(guarded(connection, 'firstKey', firstKey), new Seals(sealKeys.installation)),
    log: guarded(connection, 'log', log),
    records: guarded(connection, 'records', records),
    checkpoints,
    usage: guarded(connection, 'usage', usage),
    anchors: guarded(connection, 'anchors', anchors),
    contradictions: guarded(connection, 'contradictions', contradictions),
    audit: new ChainedAudit(
      guarded(connection, 'audit', new MongoAudit(connection)),
      new Seals(sealKeys.audit),
      forged,
    ),
    auditLinks: sealedAuditLinks(guarded(connection, 'auditLinks', auditLinks), new Seals(sealKeys.apiKeys), forged),
    owners: guarded(connection, 'owners', owners),
    leases: guarded(leases, 'leases', mongoLeases(leases)),

    async reach() {
      await connection.run('read', 'reaching the store', () => connection.db.command({ ping: 1 }));
    },

    async freeBytes() {
      const disk = await measure(connection);
      return disk && Math.max(0, disk.total - disk.used);
    },

    async diskBytes() {
      return (await measure(connection))?.total ?? null;
    },

    async dropCollectionData(collectionId) {
      await connection.run('write', 'dropping a collection', async () => {
        await log.waitForAppends(collectionId);
        await folding.subtractCollection(idPart(collectionId), collectionId);
        // The log goes first, because records could be rebuilt from it.
        await log.remove(collectionId);
        await owners.remove(collectionId);
        await contradictions.clear(collectionId);
        await auditLinks.removeAll(collectionId);
        await records.remove(collectionId);
        await files.remove(collectionId);
      });
    },

    backup: null,

    async close() {
      await Promise.all([checkpoints.close(), connection.close(), leases.close()]);
    },
  };
}

/**
 * Returns the size and use of the database's disk in bytes; null if the server does not report
 * them, as some compatible servers do not.
 */
function measure(connection: Connection): Promise<{ total: number; used: number } | null> {
  return connection.run('read', 'measuring the disk', async () => {
    const { fsTotalSize: total, fsUsedSize: used } = await connection.db
      .command({ dbStats: 1 })
      .catch((error: unknown): Document => {
        if (error instanceof MongoServerError) return {};
        throw error;
      });
    return typeof total === 'number' && typeof used === 'number' && total > 0 ? { total, used } : null;
  });
}
