/**
 * The storage port: everything the service keeps for good goes through these interfaces.
 *
 * Promises of every adapter: a promise that resolves means durable. One record or log entry that
 * does not decode never hides the others. Names and ids from users are values, never operators,
 * file paths or key parts that could collide. Buffers handed out are copies that the caller may
 * keep and transfer.
 * How it fails: with StoreError. After kind 'unknown' the effect may or may not be there, and the
 * caller reads to find out; after 'capacity', 'unavailable' and 'changed' nothing of the call is
 * there.
 * See docs/internals/store.md.
 */
import type { AliasStore } from './aliases.ts';
import type { AnchorStore } from './anchors.ts';
import type { Catalog } from './catalog.ts';
import type { CheckpointStore } from './checkpoints.ts';
import type { ContradictionStore } from './contradictions.ts';
import type { FirstKeyMark } from './first-key.ts';
import type { KeyStore } from './keys.ts';
import type { ShardLog } from './log.ts';
import type { LeaseStore, OwnerStore } from './owners.ts';
import type { RecordStore } from './records.ts';
import type { UsageStore } from './usage.ts';

export interface Store {
  readonly catalog: Catalog;
  readonly aliases: AliasStore;
  readonly keys: KeyStore;
  readonly firstKey: FirstKeyMark;
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
   * Throws StoreError 'unavailable', 'changed' or 'closed'.
   */
  reach(): Promise<void>;
  /** Free bytes where the store grows, for the disk guard; null when the adapter cannot know. */
  freeBytes(): Promise<number | null>;
  /** Size of the disk where the store grows; null when the adapter cannot know. */
  diskBytes(): Promise<number | null>;
  /**
   * Forgets everything a collection owned: log, heads, owners, records, checkpoints,
   * contradictions, and takes its vectors off its account's stored-vector count (exactly once,
   * however often it is called). Idempotent; safe to repeat after a crash. Anchors are removed by
   * the anchoring service.
   */
  dropCollectionData(collectionId: string): Promise<void>;
  /**
   * Copies everything as it is at one moment to `target`, a folder that is empty or not there, and
   * with it `beside`: files of the data folder that are only ever appended to or replaced whole, by
   * their paths within it. Null: the store's own tools do that. Throws an error whose message says
   * why; then nothing is left in `target`.
   */
  readonly backup: ((target: string, beside: readonly string[]) => Promise<{ bytes: number }>) | null;
  /** Waits for writes in flight, then releases files and connections. Idempotent. */
  close(): Promise<void>;
}

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
