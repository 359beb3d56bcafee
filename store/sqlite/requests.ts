/**
 * Messages between the main thread and the threads with the SQLite connections. The main thread
 * calls the synchronous methods of a thread's tables by name.
 */
import type { StoreKeys } from '../../lib/secret/keyring.ts';
import type { StoredAudit } from '../audit.ts';
import type { StoredAuditLinks } from '../audit-links.ts';
import type { ContradictionStore } from '../contradictions.ts';
import type { LeaseStore } from '../owners.ts';
import type { StoredPlans } from '../plans.ts';
import { SHARED_READS, type StoreErrorKind } from '../port.ts';
import type { AccountTable } from './thread/account-table.ts';
import type { AliasTable } from './thread/alias-table.ts';
import type { AnchorTables } from './thread/anchor-tables.ts';
import type { CollectionTable } from './thread/collection-table.ts';
import type { Sync } from './thread/database.ts';
import type { KeyTable } from './thread/key-table.ts';
import type { LogTables } from './thread/log-tables.ts';
import type { OwnerTable } from './thread/owner-table.ts';
import type { RecordTables } from './thread/record-tables.ts';
import type { ResealTables } from './thread/reseal-tables.ts';
import type { TraceTable } from './thread/trace-table.ts';
import type { UsageTables } from './thread/usage-tables.ts';
import type { Transferred } from './transferred.ts';

/**
 * One thread writes the log and everything small, the other the materialised records, so that
 * appends do not wait for records.
 */
export type Role = 'log' | 'records';

/** State of the thread itself. */
interface ThreadTable {
  /** Throws StoreError while one of its files cannot be written. */
  reach(): void;
}

export interface Tables {
  thread: ThreadTable;
  catalog: CollectionTable & AccountTable;
  aliases: AliasTable;
  plans: Sync<StoredPlans>;
  keys: KeyTable;
  log: LogTables;
  usage: UsageTables;
  anchors: AnchorTables;
  contradictions: Sync<ContradictionStore>;
  audit: Sync<StoredAudit>;
  auditLinks: Sync<StoredAuditLinks>;
  owners: OwnerTable;
  leases: Sync<LeaseStore>;
  records: RecordTables;
  traces: TraceTable;
  /** Present only if `StoreThreadOptions.resealing` is set. */
  reseal: ResealTables;
}

export type TableName = keyof Tables;

/** Read-only operations, which wait for no commit. Every other operation joins a group commit. */
export const READS: { readonly [T in TableName]: readonly (keyof Tables[T])[] } = {
  ...SHARED_READS,
  thread: ['reach'],
  catalog: [...SHARED_READS.catalog, 'collectionsAfter'],
  keys: [...SHARED_READS.keys, 'countSlice'],
  log: [...SHARED_READS.log, 'auditSlice'],
  anchors: [...SHARED_READS.anchors, 'rowsAfter', 'openAfter'],
  records: [...SHARED_READS.records, 'rowsAfter', 'openScan', 'nextBatch', 'closeScan'],
  traces: ['isUsed'],
  reseal: ['rowsAfter', 'shardsAfter', 'lookAtLog'],
};

/** The operations of a table as the main thread calls them. */
export type Remote<T extends TableName> = {
  readonly [O in keyof Tables[T]]: Tables[T][O] extends (...args: infer A) => infer R
    ? (...args: A) => Promise<R extends Transferred<infer V> ? V : R>
    : never;
};

export interface Request {
  id: number;
  table: TableName;
  operation: string;
  args: unknown[];
  /** Approximate number of bytes written, to bound a group. */
  bytes: number;
  /**
   * Buffers in `args` that were transferred to the thread, which frees them after it has replied.
   */
  buffers: ArrayBuffer[];
}

export interface StoreThreadOptions {
  role: Role;
  folder: string;
  keys: StoreKeys;
  /** Whether the files must already exist. */
  made: boolean;
  /** Maximum number of pages per file, to simulate a small disk; for tests. */
  maxPages: number | null;
  /**
   * Set if the store is opened only for resealing. `trustsLog`: read the log without verifying its
   * seals.
   */
  resealing?: { trustsLog: boolean };
}

/** An error sent between threads; kind 'caller' is a RangeError. */
export interface Fault {
  kind: StoreErrorKind | 'caller';
  message: string;
}

export type Reply = { id: number } & ({ result: unknown } | { fault: Fault });

/**
 * To the main thread: the outcome of the opening, then replies, in the order of their commits.
 * `mistyped` describes values that have another type than their column.
 */
export type FromThread = { opened: { mistyped: string[] } } | { refused: Fault } | { replies: Reply[] };

/** Messages to the thread; 'close' is the last. */
export type ToThread = Request | 'close';
