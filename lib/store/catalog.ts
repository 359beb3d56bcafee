import type { PlanName } from '../plans.ts';
import type { Page, Position } from './page.ts';
import type { Sealed } from './sealed.ts';

export type Metric = 'cosine' | 'euclidean' | 'dot';
export type Quantization = 'bf16' | 'f32' | 'f16' | 'i8';

/** One collection as stored; all but `deletionProtection` and `tags` is fixed at creation. */
export interface CollectionRow {
  id: string;
  accountId: string;
  name: string;
  dimensions: number;
  metric: Metric;
  /** Power of two, 1-256. */
  shards: number;
  replicas: number;
  quantization: Quantization;
  deletionProtection: boolean;
  /** Canonical JSON of an object of texts, the tags and the place; absent: none. */
  tags?: string | undefined;
  /** ISO 8601 UTC. */
  createdAt: string;
}

/** What of a collection may change. */
export type CollectionChange = Pick<CollectionRow, 'deletionProtection' | 'tags'>;

/** Whether an account is there, or is gone and what belongs to it is being removed. */
export type AccountState = 'live' | 'deleting';

export interface AccountRow {
  id: string;
  name: string;
  plan: PlanName;
  createdAt: string;
}

/** What becomes of the creation of a collection. */
export type Creation = 'created' | 'exists' | 'alias' | 'limit';

/** What becomes of the drop of a collection. */
export type Drop = 'dropped' | 'gone' | 'protected' | 'aliased';

/**
 * Collections and accounts. What stands in the store and was not written by the service is refused
 * (StoreError 'damaged') where it is asked for, and left out of lists; the operator is told. A
 * deleted collection's name is free at once; its row stays in the list of the dropped until
 * `forgetDropped`.
 */
export interface Catalog {
  /**
   * Atomic: of two creators of one name exactly one gets 'created'; 'limit' when the account
   * already owns `maxCollections` (null = no limit). 'exists', and 'alias' where the name is one,
   * win over 'limit'.
   */
  createCollection(row: CollectionRow, maxCollections: number | null): Promise<Creation>;
  findCollection(accountId: string, name: string): Promise<CollectionRow | null>;
  getCollection(id: string): Promise<CollectionRow | null>;
  /** An account's collections after `after`, newest first. */
  collectionsPage(accountId: string, after: Position | null, limit: number): Promise<Page<CollectionRow>>;
  /** All of an account, newest first, read page by page. */
  listCollections(accountId: string): Promise<CollectionRow[]>;
  countCollections(accountId: string): Promise<number>;
  /** Every live collection of every account, in pages small enough to hold in memory. */
  allCollections(): AsyncIterable<CollectionRow[]>;
  /**
   * The row after `change`, which may be asked again where another was first; null when there is no
   * such collection. Throws as `change` does.
   */
  changeCollection(id: string, change: (row: CollectionRow) => CollectionChange): Promise<CollectionRow | null>;
  /**
   * Frees the name and moves the row to the dropped ones, atomically; 'gone' when it was already.
   * Where `evenHeld` is false, not while it is protected or an alias stands for it.
   */
  dropCollection(id: string, evenHeld?: boolean): Promise<Drop>;
  /** Dropped collections whose data or ledger account is still to be cleared. */
  listDropped(): Promise<CollectionRow[]>;
  forgetDropped(id: string): Promise<void>;
  createAccount(row: AccountRow): Promise<void>;
  getAccount(id: string): Promise<AccountRow | null>;
  /** Accounts after `after`, oldest first. */
  accountsPage(after: Position | null, limit: number): Promise<Page<AccountRow>>;
  /** All accounts, oldest first, read page by page. */
  listAccounts(): Promise<AccountRow[]>;
  setPlan(id: string, plan: PlanName): Promise<AccountRow | null>;
  /**
   * Removes the account's row, keys, aliases and usage; its collections must have been dropped.
   * False when it was gone already.
   */
  deleteAccount(id: string): Promise<boolean>;
}

/** An account as an adapter has it; an adapter may know no other state than 'live'. */
export type StoredAccount = Sealed<AccountRow> & { state: AccountState };

/**
 * What an adapter keeps of it: rows with their seals, of which it believes nothing. A row is
 * changed by whoever names the seal that it has.
 */
export interface StoredCatalog extends Pick<Catalog, 'countCollections' | 'forgetDropped'> {
  createCollection(row: Sealed<CollectionRow>, maxCollections: number | null): Promise<Creation>;
  findCollection(accountId: string, name: string): Promise<Sealed<CollectionRow> | null>;
  getCollection(id: string): Promise<Sealed<CollectionRow> | null>;
  collectionsPage(accountId: string, after: Position | null, limit: number): Promise<Page<Sealed<CollectionRow>>>;
  allCollections(): AsyncIterable<Sealed<CollectionRow>[]>;
  listDropped(): Promise<Sealed<CollectionRow>[]>;
  /**
   * Writes `deletionProtection`, `tags` and the seal over those of the live collection that has
   * `seal`; false when there is none.
   */
  replaceCollection(row: Sealed<CollectionRow>, seal: string): Promise<boolean>;
  /**
   * Frees the name of the live collection that is as `row` says, and moves it to the dropped ones
   * under `droppedSeal`, atomically; false when there is none, or when an alias of its account
   * stands for it that has none of the seals `besides` (null: whatever stands for it).
   */
  dropCollection(row: Sealed<CollectionRow>, droppedSeal: string, besides: readonly string[] | null): Promise<boolean>;
  createAccount(row: Sealed<AccountRow>): Promise<void>;
  getAccount(id: string): Promise<StoredAccount | null>;
  /** In every state. */
  accountsPage(after: Position | null, limit: number): Promise<Page<StoredAccount>>;
  /** Writes plan and seal over those of the live account with `seal`; false when there is none. */
  replaceAccount(row: Sealed<AccountRow>, seal: string): Promise<boolean>;
  /**
   * Removes the account that has `seal`, its keys, aliases and usage; false when there is none.
   * Where that takes several steps the row is in the state 'deleting' under `deletingSeal`
   * meanwhile; one that had that seal already is removed through the end.
   */
  deleteAccount(id: string, seal: string, deletingSeal: string): Promise<boolean>;
}
