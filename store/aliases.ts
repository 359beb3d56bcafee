import type { AccountId, CollectionId } from '../lib/ids.ts';
import type { RowPage } from './page.ts';
import type { Sealed } from './sealed.ts';

export interface AliasRow {
  id: string;
  accountId: AccountId;
  alias: string;
  collectionId: CollectionId;
  /** ISO 8601 UTC. */
  createdAt: string;
}

/**
 * Aliases share one namespace per account with collections: a name is a live collection, an alias
 * or free. An alias can only point at a live collection, and `Catalog.dropCollection` refuses to
 * drop a collection that has aliases; of a concurrent put and drop, one is refused. A put that
 * crashes, or an account deletion, can leave an alias of a dropped collection; it stays until it is
 * removed or replaced. Stored rows that the service did not write are refused (StoreError
 * 'damaged') when looked up by name and left out of lists; they can be removed.
 */
export interface AliasStore {
  /**
   * Creates the alias, or points it at another collection. Returns 'collection' if a live
   * collection has the name, 'limit' if the account already has `maxAliases` others (concurrent
   * puts may exceed this), 'no target' if the target collection is not live.
   */
  put(
    row: Omit<AliasRow, 'id'>,
    maxAliases: number,
  ): Promise<'created' | 'replaced' | 'collection' | 'limit' | 'no target'>;
  find(accountId: AccountId, alias: string): Promise<AliasRow | null>;
  /** Returns the account's aliases whose names sort after `after`, by name. */
  page(accountId: AccountId, after: string | null, limit: number): Promise<RowPage<AliasRow, string>>;
  /** Returns one alias of the collection, or null if it has none. */
  findByCollection(accountId: AccountId, collectionId: CollectionId): Promise<AliasRow | null>;
  /** Returns false if there is no such alias. */
  remove(accountId: AccountId, alias: string): Promise<boolean>;
}

/** The aliases as an adapter stores them: rows with seals that the adapter does not verify. */
export interface StoredAliases {
  /** Same as `AliasStore.put`, but returns 'alias' if an alias of that name exists. */
  insert(
    row: Sealed<AliasRow>,
    maxAliases: number,
  ): Promise<'created' | 'alias' | 'collection' | 'limit' | 'no target'>;
  find(accountId: AccountId, alias: string): Promise<Sealed<AliasRow> | null>;
  /** Returns aliases by name, only those of `collectionId` if it is given. */
  page(
    accountId: AccountId,
    after: string | null,
    limit: number,
    collectionId?: CollectionId,
  ): Promise<RowPage<Sealed<AliasRow>, string>>;
  /** Replaces the row `before`; returns 'changed' if that row is no longer stored. */
  replace(row: Sealed<AliasRow>, before: Sealed<AliasRow>): Promise<'replaced' | 'changed' | 'no target'>;
  /** Removes the alias if it has `seal`; returns false if there is none. */
  remove(accountId: AccountId, alias: string, seal: string): Promise<boolean>;
}
