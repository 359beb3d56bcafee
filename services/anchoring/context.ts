import type { Logger } from 'pino';
import type { CollectionId } from '../../lib/ids.ts';
import type { Cut, ShardHead } from '../../lib/shard/head.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { PlanBook } from '../../process/plan-book.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Store } from '../../store/port.ts';
import type { LedgerClient } from './ledger/ledger-client.ts';
import type { Waiters } from './waiters.ts';

/** Points at which a process can die; tests stop there. */
export type OutboxStep = 'signed' | 'persisted' | 'sent' | 'confirmed';

/** Dependencies of anchoring on one instance. */
export interface AnchoringOptions {
  ledger: LedgerClient;
  store: Store;
  plans: Pick<PlanBook, 'isAnchored'>;
  clock: Clock;
  log: Logger;
  /** True if other instances may use the same store. */
  isShared: boolean;
  /** Collections that are halted although the store does not know it (row-seal.ts). */
  unsound: ReadonlySet<string>;
  /** Returns the shards' own heads at a cut; null for a shard that no longer knows its head. */
  headsAt(collection: CollectionRow, cut: Cut): Promise<(ShardHead | null)[]>;
  /** Notifies the other instances that a collection's row has changed. May be lost. */
  tell(collectionId: CollectionId): void;
  /** For tests: awaited at each OutboxStep. */
  onStep?(step: OutboxStep, collectionId: CollectionId): Promise<void>;
}

/** State shared by the parts of anchoring on one instance. */
export interface AnchoringContext extends AnchoringOptions {
  waiters: Waiters;
  /** Counts of this instance since its start. */
  counts: { confirmed: number; failures: number };
  isInCharge(collectionId: CollectionId): boolean;
}
