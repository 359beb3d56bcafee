/**
 * What an adapter provides for resealing a store (`scripts/reseal.ts`): every sealed row, whatever
 * its seal, and a way to replace the seal.
 *
 * Guarantees: nothing is written before `begin`. Each write is atomic, or `begin` of the next run
 * completes it; until then the service does not open the half-written parts.
 */
import type { StoreKeys } from '../lib/secret/keyring.ts';
import { type MacPayload, Seals } from '../lib/secret/seals.ts';
import type { ShardKey } from '../lib/shard/key.ts';
import type { AliasRow } from './aliases.ts';
import type { AuditRow } from './audit.ts';
import type { AuditLinkRow } from './audit-links.ts';
import type { AccountRow, AccountState, CollectionRow } from './catalog.ts';
import { payloadOfAuditRow } from './chained-audit.ts';
import { type CheckpointFile, type CheckpointInfo, payloadOfCheckpoint } from './checkpoints.ts';
import type { KeyRow } from './keys.ts';
import type { LogFindings } from './log-resealing.ts';
import type { PlanRow } from './plans.ts';
import type { Store } from './port.ts';
import type { Sealed } from './sealed.ts';
import { payloadOfAlias } from './sealed-aliases.ts';
import { payloadOfAuditLink } from './sealed-audit-links.ts';
import { type CollectionState, payloadOfAccount, payloadOfCollection } from './sealed-catalog.ts';
import { payloadOfKey } from './sealed-keys.ts';
import { payloadOfPlan } from './sealed-plans.ts';

/** A checkpoint as its manifest describes it. */
export interface CheckpointRow extends CheckpointInfo {
  /** The adapter's own id of the checkpoint. */
  id: string;
  shard: ShardKey;
  files: CheckpointFile[];
}

/** A row as stored. `isInPlace`: it is stored where the service would have put it. */
export type StoredRow = { isInPlace: boolean } & (
  | { kind: 'account'; state: AccountState; row: Sealed<AccountRow> }
  | { kind: 'alias'; row: Sealed<AliasRow> }
  | { kind: 'collection'; state: CollectionState; row: Sealed<CollectionRow> }
  | { kind: 'plan'; row: Sealed<PlanRow> }
  | { kind: 'API key'; row: Sealed<KeyRow> }
  | { kind: 'audit entry'; row: Sealed<AuditRow> }
  | { kind: 'audit link'; row: Sealed<AuditLinkRow> }
  | { kind: 'checkpoint'; row: Sealed<CheckpointRow> }
);

/**
 * Which secret sealed a row: the current one, an earlier one that is still accepted, or neither.
 */
export type SealState = 'current' | 'earlier' | 'none';

export interface ResealLogOptions {
  /** Whether entries and head are trusted without a valid seal. */
  trustsLog: boolean;
  /** Whether the new seals are written. */
  writes: boolean;
}

export interface StoredSeals {
  /** Returns whether the store was made under one of the secrets. */
  matchesInstallation(): Promise<boolean>;
  /** Iterates over every sealed row, logs excepted. */
  rows(): AsyncIterable<StoredRow[]>;
  /** Iterates over every shard that has a log. */
  shards(): AsyncIterable<ShardKey[]>;
  /** Completes what an earlier run left unfinished. Must run before the first write. */
  begin(): Promise<void>;
  /** Replaces the row's seal; returns false if the stored row no longer has that seal. */
  replaceSeal(stored: StoredRow, seal: string): Promise<boolean>;
  /** Reseals the entries of a log, in order, and its head. */
  resealLog(shard: ShardKey, options: ResealLogOptions): Promise<LogFindings>;
  /** Marks the store as one of the current secret. Must run last. */
  finish(): Promise<void>;
}

/** A store opened only for resealing; a service never opens one like this. */
export interface StoreToReseal extends Pick<Store, 'log' | 'records' | 'contradictions' | 'anchors' | 'leases'> {
  seals: StoredSeals;
  close(): Promise<void>;
}

/** Seals of all rows, logs excepted. */
export class RowSeals {
  readonly #current: StoreSeals;
  readonly #accepted: StoreSeals;

  constructor(keys: StoreKeys) {
    this.#current = sealsOf(currentOf(keys));
    this.#accepted = sealsOf(keys);
  }

  state(stored: StoredRow): SealState {
    const [kind, payload, { seal }] = [stored.kind, payloadOfRow(stored), stored.row];
    if (this.#current[kind].verifyHex(payload, seal)) return 'current';
    return this.#accepted[kind].verifyHex(payload, seal) ? 'earlier' : 'none';
  }

  /** Returns the seal of the current secret. */
  seal(stored: StoredRow): string {
    return this.#current[stored.kind].sealHex(payloadOfRow(stored));
  }
}

type StoreSeals = Record<StoredRow['kind'], Seals>;

/** Keeps only the current secret of each purpose. */
function currentOf(keys: StoreKeys): StoreKeys {
  return Object.fromEntries(
    Object.entries(keys).map(([purpose, [current]]) => [purpose, [current]]),
  ) as unknown as StoreKeys;
}

function sealsOf({ catalog, apiKeys, audit, checkpoints }: StoreKeys): StoreSeals {
  const ofCatalog = new Seals(catalog);
  const ofKeys = new Seals(apiKeys);
  return {
    account: ofCatalog,
    alias: ofCatalog,
    collection: ofCatalog,
    plan: ofCatalog,
    'API key': ofKeys,
    'audit entry': new Seals(audit),
    'audit link': ofKeys,
    checkpoint: new Seals(checkpoints),
  };
}

function payloadOfRow(stored: StoredRow): MacPayload {
  switch (stored.kind) {
    case 'account':
      return payloadOfAccount(stored.row, stored.state);
    case 'alias':
      return payloadOfAlias(stored.row);
    case 'collection':
      return payloadOfCollection(stored.row, stored.state);
    case 'plan':
      return payloadOfPlan(stored.row);
    case 'API key':
      return payloadOfKey(stored.row);
    case 'audit entry':
      return payloadOfAuditRow(stored.row);
    case 'audit link':
      return payloadOfAuditLink(stored.row);
    case 'checkpoint':
      return payloadOfCheckpoint(stored.row.shard, stored.row, stored.row.files);
  }
}
