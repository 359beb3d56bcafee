import { LRUCache } from 'lru-cache';
import type { CollectionId } from '../../../lib/ids.ts';
import type { CollectionTable } from './collection-table.ts';

const KNOWN_MAX = 10_000;

/** Accounts of collections. A collection never changes its account, so entries never go stale. */
export class AccountLookup {
  readonly #collections: Pick<CollectionTable, 'getCollection'>;
  readonly #known = new LRUCache<CollectionId, string>({ max: KNOWN_MAX });

  constructor(collections: Pick<CollectionTable, 'getCollection'>) {
    this.#collections = collections;
  }

  /** Returns the account of a collection; null if it does not exist or cannot be read. */
  of(collectionId: CollectionId): string | null {
    const known = this.#known.get(collectionId);
    if (known !== undefined) return known;
    const accountId = this.#read(collectionId);
    if (accountId !== null) this.#known.set(collectionId, accountId);
    return accountId;
  }

  #read(collectionId: CollectionId): string | null {
    try {
      return this.#collections.getCollection(collectionId)?.accountId ?? null;
    } catch {
      // The read that follows reports the error.
      return null;
    }
  }
}
