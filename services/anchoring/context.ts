import type { Logger } from 'pino';
import type { Plans } from '../../lib/plans.ts';
import type { Cut, ShardHead } from '../../lib/shard/head.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { Store } from '../../lib/store/port.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { LedgerClient } from './ledger/ledger-client.ts';
import type { Waiters } from './waiters.ts';

/** Instants between which a process can die; tests do so. */
export type OutboxStep = 'signed' | 'persisted' | 'sent' | 'confirmed';

/** What anchoring on one instance is built from. */
export interface AnchoringOptions {
  ledger: LedgerClient;
  store: Store;
  plans: Plans;
  clock: Clock;
  log: Logger;
  /** Whether other instances may run on the same store. */
  isShared: boolean;
  /** Collections that are halted though the store does not know (row-seal.ts). */
  unsound: ReadonlySet<string>;
  /** The shards' own heads at a cut; null where a shard cannot say. */
  headsAt(collection: CollectionRow, cut: Cut): Promise<(ShardHead | null)[]>;
  /** Tells the other instances that a collection's row has changed; may be lost. */
  tell(collectionId: string): void;
  /** For tests: awaited at the instants between which a process can die. */
  onStep?(step: OutboxStep, collectionId: string): Promise<void>;
}

/** What the parts of anchoring on one instance share. */
export interface AnchoringContext extends AnchoringOptions {
  waiters: Waiters;
  /** Of this instance since its start. */
  counts: { confirmed: number; failures: number };
  isInCharge(collectionId: string): boolean;
}
