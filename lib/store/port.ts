/**
 * The storage port: everything the service keeps for good goes through these interfaces.
 * `lib/store/sqlite/` implements it for one machine, `lib/store/mongo/` for a cluster;
 * `test/contract/` runs one suite against every adapter.
 *
 * What an adapter promises
 * - A promise that resolves means durable: after SIGKILL or power loss a new `open` sees the effect
 *   (fsync; majority + journal).
 * - A promise that rejects with `StoreError` kind 'unknown' means the effect may or may not be
 *   there; the caller reads to find out. Kind 'capacity': the disk is full and nothing of the call
 *   is there. Kind 'unavailable': out of reach, nothing of the call is there. Kind 'damaged':
 *   stored bytes do not decode; kind 'closed': the store was closed first.
 * - One record or log entry that does not decode never hides the others: reads of many say which it
 *   is and go on.
 * - Names and ids from users are values, never operators, key parts that could collide, or file
 *   paths.
 * - Buffers handed out are copies that the caller may keep and transfer.
 */
import type { AnchorStore } from './anchors.ts';
import type { Catalog } from './catalog.ts';
import type { CheckpointStore } from './checkpoints.ts';
import type { ContradictionStore } from './contradictions.ts';
import type { KeyStore } from './keys.ts';
import type { ShardLog } from './log.ts';
import type { LeaseStore, OwnerStore } from './owners.ts';
import type { RecordStore } from './records.ts';
import type { UsageStore } from './usage.ts';

export interface Store {
  readonly catalog: Catalog;
  readonly keys: KeyStore;
  readonly log: ShardLog;
  readonly records: RecordStore;
  readonly checkpoints: CheckpointStore;
  readonly usage: UsageStore;
  readonly anchors: AnchorStore;
  readonly contradictions: ContradictionStore;
  readonly owners: OwnerStore;
  readonly leases: LeaseStore;
  /**
   * Resolves while the store can be read and, as far as can be told without a write, written.
   * Throws StoreError 'unavailable' or 'closed'.
   */
  reach(): Promise<void>;
  /** Free bytes where the store grows, for the disk guard; null when the adapter cannot know. */
  freeBytes(): Promise<number | null>;
  /**
   * Forgets everything a collection owned: log, heads, owners, records, checkpoints,
   * contradictions, and takes its vectors off its account's stored-vector count (exactly once,
   * however often it is called). Idempotent; safe to repeat after a crash. Anchors are removed by
   * the anchoring service.
   */
  dropCollectionData(collectionId: string): Promise<void>;
  /** Waits for writes in flight, then releases files and connections. Idempotent. */
  close(): Promise<void>;
}

export type StoreErrorKind = 'capacity' | 'unavailable' | 'unknown' | 'damaged' | 'closed';

export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StoreError';
    this.kind = kind;
  }
}
