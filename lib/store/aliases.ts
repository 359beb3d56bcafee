import type { Page } from './page.ts';
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
 * collection's, an alias or nothing. An alias is put only where its collection is live, and a
 * collection is dropped only when no alias stands for it (`Catalog.dropCollection`): of a put and a
 * drop at once, one is refused. A put that is cut short, or the end of an account, can leave an
 * alias of a dropped collection; it stays until it is removed or put anew. What stands in the store
 * and was not written by the service is refused (StoreError 'damaged') where it is asked for, left
 * out of lists, and can be removed.
 */
export interface AliasStore {
  /**
   * Makes the alias, or has it stand for another collection. 'collection' where a live collection
   * has the name; 'limit' where the account has `maxAliases` others (about: those who come at once
   * may all fit); 'no target' where the collection that it is to stand for is not live.
   */
  put(
    row: Omit<AliasRow, 'id'>,
    maxAliases: number,
  ): Promise<'created' | 'replaced' | 'collection' | 'limit' | 'no target'>;
  find(accountId: string, alias: string): Promise<AliasRow | null>;
  /** An account's aliases whose names come after `after`, by name. */
  page(accountId: string, after: string | null, limit: number): Promise<Page<AliasRow, string>>;
  /** All of an account, by name, read page by page. */
  list(accountId: string): Promise<AliasRow[]>;
  /** One that stands for the collection; null where none does. */
  standingFor(accountId: string, collectionId: string): Promise<AliasRow | null>;
  /** False where there is none. */
  remove(accountId: string, alias: string): Promise<boolean>;
}

/** What an adapter keeps of it: rows with their seals, of which it believes nothing. */
export interface StoredAliases {
  /** As `AliasStore.put` says; 'alias' where there is one of that name. */
  insert(
    row: Sealed<AliasRow>,
    maxAliases: number,
  ): Promise<'created' | 'alias' | 'collection' | 'limit' | 'no target'>;
  find(accountId: string, alias: string): Promise<Sealed<AliasRow> | null>;
  /** In the order of their names; `collectionId`: those that stand for it alone. */
  page(
    accountId: string,
    after: string | null,
    limit: number,
    collectionId?: string,
  ): Promise<Page<Sealed<AliasRow>, string>>;
  /** Puts the row over `before`; 'changed' when that stands there no more. */
  replace(row: Sealed<AliasRow>, before: Sealed<AliasRow>): Promise<'replaced' | 'changed' | 'no target'>;
  /** Removes the alias that has `seal`; false when there is none. */
  remove(accountId: string, alias: string, seal: string): Promise<boolean>;
}
