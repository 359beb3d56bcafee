/**
 * What an adapter gives whoever seals a store anew (`scripts/reseal.ts`): every row that bears a
 * seal, whichever it bears, and a place for another one.
 *
 * Promises: nothing is written before `begin`; each write is whole or not there, or `begin` of the
 * next run completes it; and until it did the service opens nothing that is half done.
 */
import type { StoreKeys } from '../secret/keyring.ts';
import { type Said, Seals } from '../secret/seals.ts';
import type { ShardKey } from '../shard/key.ts';
import type { AliasRow } from './aliases.ts';
import type { AccountRow, AccountState, CollectionRow } from './catalog.ts';
import { type CheckpointFile, type CheckpointInfo, saidOfCheckpoint } from './checkpoints.ts';
import type { KeyRow } from './keys.ts';
import type { LogFindings } from './log-resealing.ts';
import type { Store } from './port.ts';
import type { Sealed } from './sealed.ts';
import { saidOfAlias } from './sealed-aliases.ts';
import { type State, saidOfAccount, saidOfCollection } from './sealed-catalog.ts';
import { saidOfKey } from './sealed-keys.ts';

/** A checkpoint as its manifest has it. */
export interface CheckpointRow extends CheckpointInfo {
  /** Names it to the adapter. */
  id: string;
  shard: ShardKey;
  files: CheckpointFile[];
}

/** A row as it is stored. `isInPlace`: it stands where the service would have put it. */
export type StoredRow = { isInPlace: boolean } & (
  | { kind: 'account'; state: AccountState; row: Sealed<AccountRow> }
  | { kind: 'alias'; row: Sealed<AliasRow> }
  | { kind: 'collection'; state: State; row: Sealed<CollectionRow> }
  | { kind: 'API key'; row: Sealed<KeyRow> }
  | { kind: 'checkpoint'; row: Sealed<CheckpointRow> }
);

/**
 * Whose seal a row bears: that of the current secret, of an earlier one that is still accepted, or
 * of none of them.
 */
export type SealState = 'current' | 'earlier' | 'none';

export interface ResealLogOptions {
  /** Whether entries and head are taken for what they say, whoever sealed them. */
  believes: boolean;
  /** Whether anything is written. */
  writes: boolean;
}

/** The seals of a store. */
export interface StoredSeals {
  /** Whether the store was made under one of the secrets. */
  isOfInstallation(): Promise<boolean>;
  /** Every row that bears a seal, but for logs. */
  rows(): AsyncIterable<StoredRow[]>;
  /** Every shard that has a log. */
  shards(): AsyncIterable<ShardKey[]>;
  /** Completes what an earlier run was cut off in. Before anything is written. */
  begin(): Promise<void>;
  /** Puts `seal` in the place of the row's own; false when that is not there any more. */
  replaceSeal(stored: StoredRow, seal: string): Promise<boolean>;
  /** Puts the current secret's seals on the entries of a log, in order, and on its head. */
  resealLog(shard: ShardKey, options: ResealLogOptions): Promise<LogFindings>;
  /** Marks the store as one of the current secret. After all else. */
  finish(): Promise<void>;
}

/**
 * A store that is open to be sealed anew, and for nothing else: no start of a service reads it so.
 */
export interface StoreToReseal extends Pick<Store, 'log' | 'records' | 'contradictions' | 'anchors' | 'leases'> {
  seals: StoredSeals;
  close(): Promise<void>;
}

/** Seals of all rows but a log's. */
export class RowSeals {
  readonly #current: StoreSeals;
  readonly #accepted: StoreSeals;

  constructor(keys: StoreKeys) {
    this.#current = sealsOf(currentOf(keys));
    this.#accepted = sealsOf(keys);
  }

  state(stored: StoredRow): SealState {
    const [kind, said, { seal }] = [stored.kind, saidOf(stored), stored.row];
    if (this.#current[kind].fitsHex(said, seal)) return 'current';
    return this.#accepted[kind].fitsHex(said, seal) ? 'earlier' : 'none';
  }

  /** The seal of the current secret. */
  seal(stored: StoredRow): string {
    return this.#current[stored.kind].hex(saidOf(stored));
  }
}

type StoreSeals = Record<StoredRow['kind'], Seals>;

/** Those of the current secret alone. */
function currentOf(keys: StoreKeys): StoreKeys {
  return Object.fromEntries(
    Object.entries(keys).map(([purpose, [current]]) => [purpose, [current]]),
  ) as unknown as StoreKeys;
}

function sealsOf({ catalog, apiKeys, checkpoints }: StoreKeys): StoreSeals {
  const ofCatalog = new Seals(catalog);
  return {
    account: ofCatalog,
    alias: ofCatalog,
    collection: ofCatalog,
    'API key': new Seals(apiKeys),
    checkpoint: new Seals(checkpoints),
  };
}

function saidOf(stored: StoredRow): Said {
  switch (stored.kind) {
    case 'account':
      return saidOfAccount(stored.row, stored.state);
    case 'alias':
      return saidOfAlias(stored.row);
    case 'collection':
      return saidOfCollection(stored.row, stored.state);
    case 'API key':
      return saidOfKey(stored.row);
    case 'checkpoint':
      return saidOfCheckpoint(stored.row.shard, stored.row, stored.row.files);
  }
}
