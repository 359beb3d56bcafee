import type { Sealed } from './sealed.ts';

/** Another name of a collection. */
export interface AliasRow {
  id: string;
  accountId: string;
  alias: string;
  collectionId: string;
  /** ISO 8601 UTC. */
  createdAt: string;
}

/**
 * Aliases, which share the names of an account with its collections: at any time a name is a live
 * collection's, an alias or nothing. An alias of a collection that was dropped since stays until it
 * is removed or put anew. What stands in the store and was not written by the service is refused
 * (StoreError 'damaged') where it is asked for, and left out of lists.
 */
export interface AliasStore {
  /**
   * Makes the alias, or has it stand for another collection: atomic. 'collection' where a live
   * collection has the name; 'limit' where the account has `maxAliases` others (about: those who
   * come at once may all fit).
   */
  put(row: Omit<AliasRow, 'id'>, maxAliases: number): Promise<'created' | 'replaced' | 'collection' | 'limit'>;
  find(accountId: string, alias: string): Promise<AliasRow | null>;
  /** By name. */
  list(accountId: string): Promise<AliasRow[]>;
  /** False where there is none. */
  remove(accountId: string, alias: string): Promise<boolean>;
}

/** What an adapter keeps of it: rows with their seals, of which it believes nothing. */
export interface StoredAliases {
  /** Atomic. 'alias' where there is one of that name. */
  insert(row: Sealed<AliasRow>, maxAliases: number): Promise<'created' | 'alias' | 'collection' | 'limit'>;
  find(accountId: string, alias: string): Promise<Sealed<AliasRow> | null>;
  list(accountId: string): Promise<Sealed<AliasRow>[]>;
  /** Puts the row over the alias of that name that has `seal`; false when there is none. */
  replace(row: Sealed<AliasRow>, seal: string): Promise<boolean>;
  /** Removes the alias that has `seal`; false when there is none. */
  remove(accountId: string, alias: string, seal: string): Promise<boolean>;
}
