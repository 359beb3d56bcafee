import type { AccountId, CollectionId } from '../lib/ids.ts';
import type { Sealed } from './sealed.ts';

/** Most rows of one collection that are listed, more than any limit allows. */
export const LISTED_LINKS_MAX = 1_000;

/**
 * A link that shows a collection's roots to anyone who has it. `hash` is the SHA-256 (hex) of its
 * token; the token itself is not stored. Times are ISO 8601 UTC.
 */
export interface AuditLinkRow {
  id: string;
  accountId: AccountId;
  collectionId: CollectionId;
  hash: string;
  label: string | null;
  createdAt: string;
  expiresAt: string | null;
}

/**
 * Audit links. A stored link that the service did not write shows nothing and is reported to the
 * operator; it can be removed. `Store.dropCollectionData` removes the links of a collection.
 */
export interface AuditLinkStore {
  /**
   * Returns 'limit' if the collection already has `maxLinks`. Concurrent calls for MongoDB may
   * exceed this.
   */
  create(row: AuditLinkRow, maxLinks: number): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<AuditLinkRow | null>;
  /** Returns the collection's links, newest first. */
  list(collectionId: CollectionId): Promise<AuditLinkRow[]>;
  /** Returns false if the collection has no such link. */
  remove(collectionId: CollectionId, id: string): Promise<boolean>;
}

/** The links as an adapter stores them: rows with seals that the adapter does not verify. */
export interface StoredAuditLinks extends Pick<AuditLinkStore, 'remove'> {
  create(row: Sealed<AuditLinkRow>, maxLinks: number): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<Sealed<AuditLinkRow> | null>;
  /** Returns at most LISTED_LINKS_MAX rows, in any order. */
  list(collectionId: CollectionId): Promise<Sealed<AuditLinkRow>[]>;
  removeAll(collectionId: CollectionId): Promise<void>;
}
