/**
 * The storage port. The service stores everything durable through these interfaces.
 *
 * Guarantees of every adapter: when a promise resolves, the change is durable. A record or log
 * entry that does not decode never hides others. Names and ids from users are only ever values,
 * never operators, file paths or parts of keys that could collide. Returned buffers are copies that
 * the caller may keep and transfer. Errors: StoreError. After 'unknown' the caller must read to
 * learn whether the change was made. After 'capacity', 'unavailable' and 'changed' nothing was
 * changed. See docs/internals/store.md.
 */
import type { CollectionId } from '../lib/ids.ts';
import type { AliasStore } from './aliases.ts';
import type { AnchorStore } from './anchors.ts';
import type { AuditStore } from './audit.ts';
import type { AuditLinkStore } from './audit-links.ts';
import type { Catalog } from './catalog.ts';
import type { CheckpointStore } from './checkpoints.ts';
import type { ContradictionStore } from './contradictions.ts';
import type { FirstKeyMark } from './first-key.ts';
import type { KeyStore } from './keys.ts';
import type { ShardLog } from './log.ts';
import type { LeaseStore, OwnerStore } from './owners.ts';
import type { PlanStore } from './plans.ts';
import type { RecordStore } from './records.ts';
import type { UsageStore } from './usage.ts';

export interface Store {
  readonly catalog: Catalog;
  readonly aliases: AliasStore;
  readonly plans: PlanStore;
  readonly keys: KeyStore;
  readonly firstKey: FirstKeyMark;
  readonly log: ShardLog;
  readonly records: RecordStore;
  readonly checkpoints: CheckpointStore;
  readonly usage: UsageStore;
  readonly anchors: AnchorStore;
  readonly contradictions: ContradictionStore;
  readonly audit: AuditStore;
  readonly auditLinks: AuditLinkStore;
  readonly owners: OwnerStore;
  readonly leases: LeaseStore;
  /**
   * Resolves while the store can be read and, as far as can be checked without a write, written.
   * Throws StoreError 'unavailable', 'changed' or 'closed'.
   */
  reach(): Promise<void>;
  /** Free bytes on the store's disk, for the disk guard; null if the adapter cannot know. */
  freeBytes(): Promise<number | null>;
  /** Size in bytes of the store's disk; null if the adapter cannot know. */
  diskBytes(): Promise<number | null>;
  /**
   * Removes everything a collection owned except anchors: log, heads, owners, records, checkpoints,
   * contradictions, audit links. Subtracts its vectors from the account's stored-vector count
   * exactly once. Idempotent, also after a crash. The anchoring service removes the anchors.
   */
  dropCollectionData(collectionId: CollectionId): Promise<void>;
  /**
   * Copies a snapshot of the store to `target`, an empty or missing folder, together with `beside`:
   * paths, within the data folder, of files that are only appended to or replaced whole. Null if
   * the store has its own backup tools. On an error, whose message says why, nothing is left in
   * `target`.
   */
  readonly backup: ((target: string, beside: readonly string[]) => Promise<{ bytes: number }>) | null;
  /** Waits for writes in flight, then releases files and connections. Idempotent. */
  close(): Promise<void>;
}

/** Methods of both adapters that only read, by part of the port. Each adapter adds its own. */
export const SHARED_READS = {
  aliases: ['find', 'page'],
  anchors: ['get', 'getMany', 'history', 'instances'],
  audit: ['last', 'page'],
  auditLinks: ['findByHash', 'list'],
  catalog: [
    'findCollection',
    'getCollection',
    'collectionsPage',
    'countCollections',
    'listDropped',
    'getAccount',
    'accountsPage',
    'hasAccountOfPlan',
  ],
  contradictions: ['list'],
  keys: ['find', 'findByHash', 'page'],
  leases: ['list', 'get'],
  log: ['read', 'head', 'heads', 'firstSeq'],
  owners: ['get', 'list'],
  plans: ['find', 'list'],
  records: ['appliedSeq'],
  usage: ['read', 'readDays', 'readQueries', 'readHolds'],
} as const;

export const STORE_ERROR_KINDS = ['capacity', 'unavailable', 'unknown', 'damaged', 'changed', 'closed'] as const;
export type StoreErrorKind = (typeof STORE_ERROR_KINDS)[number];

export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StoreError';
    this.kind = kind;
  }
}
