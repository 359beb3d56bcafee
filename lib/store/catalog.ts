import type { PlanName } from '../plans.ts';

export type Metric = 'cosine' | 'euclidean' | 'dot';
export type Quantization = 'bf16' | 'f32' | 'f16' | 'i8';

/** One collection as stored; all but `deletionProtection` is fixed at creation. */
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
  /** ISO 8601 UTC. */
  createdAt: string;
}

export interface AccountRow {
  id: string;
  name: string;
  plan: PlanName;
  createdAt: string;
}

/** Collections and accounts. A deleted collection's name is free at once; its row stays in the list of the dropped until `forgetDropped`. */
export interface Catalog {
  /** Atomic: of two creators of one name exactly one gets 'created'; 'limit' when the account already owns `maxCollections` (null = no limit). 'exists' wins over 'limit'. */
  createCollection(row: CollectionRow, maxCollections: number | null): Promise<'created' | 'exists' | 'limit'>;
  findCollection(accountId: string, name: string): Promise<CollectionRow | null>;
  getCollection(id: string): Promise<CollectionRow | null>;
  /** Newest first. */
  listCollections(accountId: string): Promise<CollectionRow[]>;
  countCollections(accountId: string): Promise<number>;
  /** Every live collection of every account, in pages small enough to hold in memory. */
  allCollections(): AsyncIterable<CollectionRow[]>;
  /** The row after the change; null when there is no such collection. */
  setDeletionProtection(id: string, deletionProtection: boolean): Promise<CollectionRow | null>;
  /** Frees the name and moves the row to the dropped ones, atomically; false when it was gone already, or is protected and `evenProtected` is false. */
  dropCollection(id: string, evenProtected?: boolean): Promise<boolean>;
  /** Dropped collections whose data or ledger account is still to be cleared. */
  listDropped(): Promise<CollectionRow[]>;
  forgetDropped(id: string): Promise<void>;
  createAccount(row: AccountRow): Promise<void>;
  getAccount(id: string): Promise<AccountRow | null>;
  /** Oldest first. */
  listAccounts(): Promise<AccountRow[]>;
  setPlan(id: string, plan: PlanName): Promise<AccountRow | null>;
  /** Removes the account's row, keys and usage; its collections must have been dropped. False when it was gone already. */
  deleteAccount(id: string): Promise<boolean>;
}
