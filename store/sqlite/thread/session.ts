import { join } from 'node:path';
import { itemAt } from '../../../lib/checked-access.ts';
import { systemCode } from '../../../lib/host/system-error.ts';
import { Seals } from '../../../lib/secret/seals.ts';
import { parseShardKey } from '../../../lib/shard/key.ts';
import { FairScheduler } from '../../../lib/time/fair-scheduler.ts';
import { UnverifiedLogSeals } from '../../log-resealing.ts';
import { LogSeals } from '../../log-seals.ts';
import { StoreError } from '../../port.ts';
import {
  type Fault,
  type FromThread,
  READS,
  type Reply,
  type Request,
  type StoreThreadOptions,
  type TableName,
  type Tables,
} from '../requests.ts';
import { sqliteFailure } from '../store-failure.ts';
import { freeBuffers, Transferred } from '../transferred.ts';
import { AccountLookup } from './account-lookup.ts';
import { ACCOUNTS_SCHEMA, accountTable } from './account-table.ts';
import { ALIASES_SCHEMA, aliasTable } from './alias-table.ts';
import { ANCHORS_SCHEMA, AnchorTables } from './anchor-tables.ts';
import { AUDIT_LINKS_SCHEMA, auditLinkTable } from './audit-link-table.ts';
import { AUDIT_SCHEMA, auditTable } from './audit-table.ts';
import { COLLECTIONS_SCHEMA, collectionTable } from './collection-table.ts';
import { CONTRADICTIONS_SCHEMA, contradictionTable } from './contradiction-table.ts';
import type { Outcome } from './group-commit.ts';
import { HeadCache } from './head-cache.ts';
import { KEYS_SCHEMA, keyTable } from './key-table.ts';
import { LEASES_SCHEMA, leaseTable } from './lease-table.ts';
import { LOG_SCHEMA, LogTables } from './log-tables.ts';
import { OWNERS_SCHEMA, ownerTable } from './owner-table.ts';
import { PLANS_SCHEMA, planTable } from './plan-table.ts';
import { RECORDS_SCHEMA, RecordTables } from './record-tables.ts';
import { ResealTables } from './reseal-tables.ts';
import { StoreFile, type StoreFileOptions } from './store-file.ts';
import { TAGS_SCHEMA } from './tag-table.ts';
import { LOG_TRACES, RECORD_TRACES, traceTable } from './trace-table.ts';
import { USAGE_SCHEMA, UsageTables } from './usage-tables.ts';

const SMALL_PAGE_BYTES = 4_096;
/** Fits four records of 384 dimensions. */
const RECORDS_PAGE_BYTES = 8_192;

/** Tables whose reads name a collection or a shard, not an account. */
const TABLES_BY_COLLECTION: ReadonlySet<TableName> = new Set(['log', 'anchors', 'contradictions', 'owners', 'records']);

/** Tables of log.db whose rows a seal or a decoder judges one by one. */
const JUDGED_IN_LOG = [
  'accounts',
  'aliases',
  'anchoring_instances',
  'audit',
  'audit_links',
  'collections',
  'collection_tags',
  'entries',
  'keys',
  'plans',
];

/**
 * Shared by all look-ups of an API key or an audit link: the client, not yet authenticated,
 * chooses the hash.
 */
const KEY_LOOKUPS = 'key look-ups';

type Post = (message: FromThread, buffers?: ArrayBuffer[]) => void;

interface Place {
  file: StoreFile;
  table: object;
}

/**
 * The open files of one thread and the requests to their tables. Reads are scheduled fairly between
 * accounts; writes are answered after their commit.
 */
export class Session {
  readonly #post: Post;
  readonly #files: StoreFile[] = [];
  readonly #places: { [T in TableName]?: Place } = {};
  #replies: Reply[] = [];
  #buffers: ArrayBuffer[] = [];
  readonly #reads = new FairScheduler();
  /** Accounts by collection id; null in the thread without collections. */
  #accounts: AccountLookup | null = null;

  /** Throws StoreError. */
  constructor(opening: StoreThreadOptions, post: Post) {
    this.#post = post;
    try {
      if (opening.role === 'log') this.#openLog(opening);
      else this.#openRecords(opening);
      this.#place(itemAt(this.#files, 0), { thread: this });
      // Resealing accepts only values that the service wrote.
      const [mistyped] = this.mistyped;
      if (opening.resealing && mistyped) throw new StoreError('damaged', `${mistyped}: put back what was there.`);
    } catch (error) {
      this.close();
      throw sqliteFailure(error, `opening ${opening.folder}`);
    }
  }

  /** Describes values of other types that the files held when they were opened. */
  get mistyped(): string[] {
    return this.#files.flatMap(({ database }) => database.mistyped);
  }

  receive({ id, table, operation, args, bytes, buffers }: Request): void {
    const place = this.#places[table];
    if (place === undefined) throw new Error(`this thread has no table ${table}`);
    const { file } = place;
    const methods = place.table as Partial<Record<string, (...args: unknown[]) => unknown>>;
    const run = () => {
      const method = methods[operation];
      if (method === undefined) throw new Error(`the table ${table} has no operation ${operation}`);
      return method.apply(methods, args);
    };
    const { name } = file.database;
    if ((READS[table] as readonly string[]).includes(operation)) {
      this.#reads.submit(this.#accountOf(table, operation, args[0]), () => {
        this.#reply(id, attempt(run), `reading ${name}`);
        this.#flush();
      });
      return;
    }
    file.submit(run, bytes, (outcome) => {
      this.#reply(id, outcome, `writing ${name}`);
      freeBuffers(buffers);
    });
  }

  /** Throws StoreError while one of its files cannot be written. */
  reach(): void {
    for (const file of this.#files) file.reach();
  }

  /** Commits and answers what was submitted, then closes the files. */
  close(): void {
    this.#reads.drain();
    (this.#places.records?.table as RecordTables | undefined)?.close();
    for (const file of this.#files) file.close();
    this.#flush();
  }

  #openLog({ folder, keys: sealKeys, made, maxPages, resealing }: StoreThreadOptions): void {
    const schemas = [COLLECTIONS_SCHEMA, ACCOUNTS_SCHEMA, KEYS_SCHEMA, USAGE_SCHEMA, LOG_SCHEMA, ANCHORS_SCHEMA];
    const schema = [...schemas, CONTRADICTIONS_SCHEMA, OWNERS_SCHEMA].join('');
    const path = join(folder, 'log.db');
    const pageBytes = SMALL_PAGE_BYTES;
    const log = this.#open({
      path,
      schema,
      later: `${ALIASES_SCHEMA};${TAGS_SCHEMA};${AUDIT_SCHEMA};${PLANS_SCHEMA};${AUDIT_LINKS_SCHEMA}`,
      judged: JUDGED_IN_LOG,
      pageBytes,
      made,
      maxPages,
      isCounted: true,
    });
    const aliases = aliasTable(log.database);
    const collections = collectionTable(log.database, aliases);
    const keys = keyTable(log.database, new Seals(sealKeys.apiKeys));
    const usage = new UsageTables(log.database);
    const seals = resealing?.trustsLog ? new UnverifiedLogSeals(sealKeys.log) : new LogSeals(sealKeys.log);
    this.#accounts = new AccountLookup(collections);
    this.#place(log, {
      aliases,
      keys,
      usage,
      catalog: { ...collections, ...accountTable(log.database, collections, { aliases, keys, usage }) },
      log: new LogTables(log.database, usage, seals, resealing ? null : new HeadCache(log.database)),
      anchors: new AnchorTables(log.database),
      contradictions: contradictionTable(log.database),
      audit: auditTable(log.database),
      auditLinks: auditLinkTable(log.database),
      owners: ownerTable(log.database),
      plans: planTable(log.database),
      traces: traceTable(log.database, LOG_TRACES),
    });
    if (resealing) this.#place(log, { reseal: new ResealTables(log.database, sealKeys.log) });
    const leases = this.#open(leasesIn(folder));
    this.#place(leases, { leases: leaseTable(leases.database) });
  }

  #openRecords({ folder, made, maxPages }: StoreThreadOptions): void {
    const path = join(folder, 'records.db');
    const pageBytes = RECORDS_PAGE_BYTES;
    const schema = RECORDS_SCHEMA;
    const records = this.#open({ path, schema, judged: ['records'], pageBytes, made, maxPages, isCounted: true });
    const traces = traceTable(records.database, RECORD_TRACES);
    this.#place(records, { records: new RecordTables(records.database), traces });
  }

  #open(options: Omit<StoreFileOptions, 'onSettled'>): StoreFile {
    const file = new StoreFile({ ...options, onSettled: () => this.#flush() });
    this.#files.push(file);
    return file;
  }

  #place(file: StoreFile, tables: Partial<Tables>): void {
    for (const [name, table] of Object.entries(tables)) this.#places[name as TableName] = { file, table };
  }

  /**
   * Returns the id that a read is scheduled under. The first argument of nearly all reads is an
   * account, a collection or a shard; collections and shards count for their account. Any other
   * argument, and a collection whose account is unknown, stands for itself.
   */
  #accountOf(table: TableName, operation: string, owner: unknown): string {
    if (operation === 'findByHash') return KEY_LOOKUPS;
    const id = String(owner);
    if (!TABLES_BY_COLLECTION.has(table)) return id;
    const collectionId = id.includes('.') ? parseShardKey(id).collectionId : id;
    return this.#accounts?.of(collectionId) ?? collectionId;
  }

  #reply(id: number, outcome: Outcome, doing: string): void {
    if ('error' in outcome) {
      this.#replies.push({ id, fault: faultOf(outcome.error, doing) });
      return;
    }
    const { result } = outcome;
    this.#replies.push({ id, result: result instanceof Transferred ? result.value : result });
    if (result instanceof Transferred) this.#buffers.push(...result.buffers);
  }

  #flush(): void {
    if (this.#replies.length === 0) return;
    this.#post({ replies: this.#replies }, this.#buffers);
    this.#replies = [];
    this.#buffers = [];
  }
}

/** Live nodes write their leases again, so a missing or empty file is no loss. */
function leasesIn(folder: string): Omit<StoreFileOptions, 'onSettled'> {
  const path = join(folder, 'leases.db');
  const advice = 'stop all processes that use the directory and delete leases.db; this loses nothing';
  return { path, schema: LEASES_SCHEMA, pageBytes: SMALL_PAGE_BYTES, made: false, advice, isCounted: false };
}

function attempt(run: () => unknown): Outcome {
  try {
    return { result: run() };
  } catch (error) {
    return { error };
  }
}

export function faultOf(error: unknown, doing: string): Fault {
  const isCallers = error instanceof RangeError && systemCode(error) === undefined;
  if (isCallers) return { kind: 'caller', message: error.message };
  const { kind, message } = error instanceof StoreError ? error : sqliteFailure(error, doing);
  return { kind, message };
}
