/**
 * What passes between the main thread and the threads that hold the SQLite connections. The tables
 * of a thread are plain classes with synchronous methods; the main thread calls them by name, and
 * the thread knows from `OPERATIONS` which of them write, and so take part in a group commit.
 */
import type { StoreKeys } from '../../secret/keyring.ts';
import type { StoreErrorKind } from '../port.ts';
import type { AnchorTables } from './thread/anchor-tables.ts';
import type { CatalogTables } from './thread/catalog-tables.ts';
import type { ContradictionTable } from './thread/contradiction-table.ts';
import type { FileSettings } from './thread/database.ts';
import type { KeyTable } from './thread/key-table.ts';
import type { LeaseTable } from './thread/lease-table.ts';
import type { LogTables } from './thread/log-tables.ts';
import type { OwnerTable } from './thread/owner-table.ts';
import type { RecordTables } from './thread/record-tables.ts';
import type { ResealTables } from './thread/reseal-tables.ts';
import type { UsageTables } from './thread/usage-tables.ts';
import type { Transferred } from './transferred.ts';

/**
 * One thread writes the log and everything small; the other the materialised records, so that no
 * append waits for those.
 */
export type Role = 'log' | 'records';

/** What the thread says of itself. */
export interface ThreadTable {
  settings(): FileSettings[];
  /** Throws StoreError while one of its files cannot be written. */
  reach(): void;
}

export interface Tables {
  thread: ThreadTable;
  catalog: CatalogTables;
  keys: KeyTable;
  log: LogTables;
  usage: UsageTables;
  anchors: AnchorTables;
  contradictions: ContradictionTable;
  owners: OwnerTable;
  leases: LeaseTable;
  records: RecordTables;
  /** Only where `Opening.resealing` says so. */
  reseal: ResealTables;
}

export type TableName = keyof Tables;

export const OPERATIONS = {
  thread: { settings: 'read', reach: 'read' },
  catalog: {
    createCollection: 'write',
    findCollection: 'read',
    getCollection: 'read',
    listCollections: 'read',
    countCollections: 'read',
    collectionsAfter: 'read',
    replaceCollection: 'write',
    dropCollection: 'write',
    listDropped: 'read',
    forgetDropped: 'write',
    createAccount: 'write',
    getAccount: 'read',
    listAccounts: 'read',
    replaceAccount: 'write',
    deleteAccount: 'write',
  },
  keys: {
    create: 'write',
    findByHash: 'read',
    list: 'read',
    count: 'read',
    hasAny: 'read',
    revoke: 'write',
    touch: 'write',
  },
  log: {
    append: 'write',
    read: 'read',
    auditSlice: 'read',
    head: 'read',
    heads: 'read',
    trimSlice: 'write',
    firstSeq: 'read',
    dropSlice: 'write',
  },
  usage: {
    read: 'read',
    readQueries: 'read',
    openBlock: 'write',
    closeBlock: 'write',
    readHolds: 'read',
    replaceHolds: 'write',
    takeOffShare: 'write',
  },
  anchors: {
    get: 'read',
    getMany: 'read',
    add: 'write',
    put: 'write',
    rowsAfter: 'read',
    openAfter: 'read',
    history: 'read',
    removeHistorySlice: 'write',
    remove: 'write',
    beat: 'write',
    instances: 'read',
    endInstance: 'write',
  },
  contradictions: { record: 'write', list: 'read', clear: 'write' },
  owners: { get: 'read', list: 'read', claim: 'write', release: 'write', drop: 'write' },
  leases: { begin: 'write', renew: 'write', list: 'read', get: 'read', end: 'write' },
  records: {
    apply: 'write',
    appliedSeq: 'read',
    get: 'read',
    openScan: 'read',
    nextBatch: 'read',
    closeScan: 'read',
    dropSlice: 'write',
  },
  reseal: {
    accountsAfter: 'read',
    collectionsAfter: 'read',
    keysAfter: 'read',
    shardsAfter: 'read',
    replaceSeal: 'write',
    lookAtLog: 'read',
    resealLog: 'write',
  },
} as const satisfies { [T in TableName]: { [O in keyof Tables[T]]?: 'read' | 'write' } };

/** Names of a table's operations. */
export type OperationOf<T extends TableName> = keyof (typeof OPERATIONS)[T] & keyof Tables[T];

/** The operations of a table as the main thread has them. */
export type Remote<T extends TableName> = {
  readonly [O in OperationOf<T>]: Tables[T][O] extends (...args: infer A) => infer R
    ? (...args: A) => Promise<R extends Transferred<infer V> ? V : R>
    : never;
};

export interface Request {
  id: number;
  table: TableName;
  operation: string;
  args: unknown[];
  /** About what it writes, to bound a group. */
  bytes: number;
  /**
   * Those among its arguments that went over to the thread, which gives their memory back when it
   * has answered.
   */
  buffers: ArrayBuffer[];
}

export interface Opening {
  role: Role;
  folder: string;
  keys: StoreKeys;
  /** Whether the files must be there already. */
  made: boolean;
  /** Bound on the pages of each file, as a small disk has it; for tests. */
  maxPages: number | null;
  /**
   * Opened to be sealed anew, and for nothing else; `believes`: the log is read for what it says,
   * whoever sealed it.
   */
  resealing?: { believes: boolean };
}

/** An error on its way between threads; kind 'caller' is a RangeError. */
export interface Fault {
  kind: StoreErrorKind | 'caller';
  message: string;
}

export type Reply = { id: number } & ({ result: unknown } | { fault: Fault });

/** To the main thread: the outcome of the opening, then replies, in the order of their commits. */
export type FromThread = { opened: true } | { refused: Fault } | { replies: Reply[] };

/** To the thread; `close` is the last. */
export type ToThread = Request | 'close';
