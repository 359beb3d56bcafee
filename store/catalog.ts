import type { AccountId, CollectionId } from '../lib/ids.ts';
import type { PlanName } from '../lib/plans.ts';
import type { Metric, Quantization } from '../lib/records/metric.ts';
import type { Position, RowPage } from './page.ts';
import type { Sealed } from './sealed.ts';

/** A collection as stored. All fields but `deletionProtection` and `tags` are fixed at creation. */
export interface CollectionRow {
  id: CollectionId;
  accountId: AccountId;
  name: string;
  dimensions: number;
  metric: Metric;
  /** Power of two, 1-256. */
  shards: number;
  replicas: number;
  quantization: Quantization;
  deletionProtection: boolean;
  /**
   * Canonical JSON of an object of strings: the tags and the placement. Absent if there are none.
   */
  tags?: string | undefined;
  /** ISO 8601 UTC. */
  createdAt: string;
}

export type CollectionChange = Pick<CollectionRow, 'deletionProtection' | 'tags'>;

/** 'deleting' while the account's data is being removed. */
export type AccountState = 'live' | 'deleting';

export interface AccountRow {
  id: AccountId;
  name: string;
  plan: PlanName;
  createdAt: string;
}

export type CreateOutcome = 'created' | 'exists' | 'alias' | 'limit';

export type DropOutcome = 'dropped' | 'gone' | 'protected' | 'aliased';

/**
 * Collections and accounts. Stored rows that the service did not write are refused (StoreError
 * 'damaged') when looked up, left out of lists, and reported to the operator. The name of a dropped
 * collection is free at once; its row stays in `listDropped` until `forgetDropped`.
 */
export interface Catalog {
  /**
   * Atomic: of two concurrent creators of one name exactly one gets 'created'. Returns 'limit' if
   * the account already owns `maxCollections` (null for no limit). 'exists' (a collection has the
   * name) and 'alias' (an alias has it) take precedence over 'limit'.
   */
  createCollection(row: CollectionRow, maxCollections: number | null): Promise<CreateOutcome>;
  findCollection(accountId: AccountId, name: string): Promise<CollectionRow | null>;
  getCollection(id: CollectionId): Promise<CollectionRow | null>;
  /** Returns the account's collections after `after`, newest first. */
  collectionsPage(accountId: AccountId, after: Position | null, limit: number): Promise<RowPage<CollectionRow>>;
  /** Returns all collections of the account, newest first, reading page by page. */
  listCollections(accountId: AccountId): Promise<CollectionRow[]>;
  countCollections(accountId: AccountId): Promise<number>;
  /** Iterates over the live collections of all accounts, in pages that fit in memory. */
  allCollections(): AsyncIterable<CollectionRow[]>;
  /**
   * Returns the row after `change`, or null if there is no such collection. Calls `change` again if
   * another writer was faster. Throws what `change` throws.
   */
  changeCollection(id: CollectionId, change: (row: CollectionRow) => CollectionChange): Promise<CollectionRow | null>;
  /**
   * Atomically frees the name and moves the row to the dropped collections; returns 'gone' if that
   * had already happened. Unless `evenHeld`, refuses while the collection is protected or has an
   * alias.
   */
  dropCollection(id: CollectionId, evenHeld: boolean): Promise<DropOutcome>;
  /** Returns dropped collections whose data or ledger account has yet to be removed. */
  listDropped(): Promise<CollectionRow[]>;
  forgetDropped(id: CollectionId): Promise<void>;
  createAccount(row: AccountRow): Promise<void>;
  getAccount(id: AccountId): Promise<AccountRow | null>;
  /** Returns accounts after `after`, oldest first. */
  accountsPage(after: Position | null, limit: number): Promise<RowPage<AccountRow>>;
  /** Returns all accounts, oldest first, reading page by page. */
  listAccounts(): Promise<AccountRow[]>;
  setPlan(id: AccountId, plan: PlanName): Promise<AccountRow | null>;
  /** Returns whether any stored account names the plan, even in a row that is refused. */
  hasAccountOfPlan(plan: PlanName): Promise<boolean>;
  /**
   * Removes the account's row, keys, aliases and usage. Its collections must already be dropped.
   * Returns false if the account was already gone.
   */
  deleteAccount(id: AccountId): Promise<boolean>;
}

/** An account as stored. Some adapters have no state but 'live'. */
export type StoredAccount = Sealed<AccountRow> & { state: AccountState };

/**
 * The catalog as an adapter stores it: rows with seals that the adapter does not verify. Updates
 * and deletes are compare-and-set on the row's seal.
 */
export interface StoredCatalog extends Pick<Catalog, 'countCollections' | 'forgetDropped' | 'hasAccountOfPlan'> {
  createCollection(row: Sealed<CollectionRow>, maxCollections: number | null): Promise<CreateOutcome>;
  findCollection(accountId: AccountId, name: string): Promise<Sealed<CollectionRow> | null>;
  getCollection(id: CollectionId): Promise<Sealed<CollectionRow> | null>;
  collectionsPage(accountId: AccountId, after: Position | null, limit: number): Promise<RowPage<Sealed<CollectionRow>>>;
  allCollections(): AsyncIterable<Sealed<CollectionRow>[]>;
  listDropped(): Promise<Sealed<CollectionRow>[]>;
  /**
   * Overwrites `deletionProtection`, `tags` and the seal of the live collection if it has `seal`;
   * returns false if there is none.
   */
  replaceCollection(row: Sealed<CollectionRow>, seal: string): Promise<boolean>;
  /**
   * If the live collection matches `row`, atomically frees its name and moves it to the dropped
   * collections under `droppedSeal`. Returns false if it does not match, or if an alias of its
   * account points to it whose seal is not in `besides` (null: ignore all aliases).
   */
  dropCollection(row: Sealed<CollectionRow>, droppedSeal: string, besides: readonly string[] | null): Promise<boolean>;
  createAccount(row: Sealed<AccountRow>): Promise<void>;
  getAccount(id: AccountId): Promise<StoredAccount | null>;
  /** Returns accounts in every state. */
  accountsPage(after: Position | null, limit: number): Promise<RowPage<StoredAccount>>;
  /**
   * Overwrites plan and seal of the live account if it has `seal`; returns false if there is none.
   */
  replaceAccount(row: Sealed<AccountRow>, seal: string): Promise<boolean>;
  /**
   * Removes the account with `seal`, its keys, aliases and usage; returns false if there is none.
   * If removal takes several steps, the row is meanwhile in the state 'deleting' under
   * `deletingSeal`. An account that already has that seal is removed completely.
   */
  deleteAccount(id: AccountId, seal: string, deletingSeal: string): Promise<boolean>;
}
