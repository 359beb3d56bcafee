import type { AccountId } from '../lib/ids.ts';
import type { Position, RowPage } from './page.ts';
import type { Sealed } from './sealed.ts';

export const SCOPES = ['read', 'write', 'manage'] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * An API key as stored. `hash` is the SHA-256 (hex) of the secret and `prefix` its first 12
 * characters; the secret itself is not stored. Times are ISO 8601 UTC.
 */
export interface KeyRow {
  id: string;
  accountId: AccountId;
  name: string;
  hash: string;
  prefix: string;
  scopes: Scope[];
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
}

/**
 * API keys. A stored key that the service did not write grants no access, does not count towards
 * limits and is reported to the operator; it can be revoked.
 */
export interface KeyStore {
  /** Atomic. Returns 'limit' if the account already has `maxKeys` keys (null for no limit). */
  create(row: KeyRow, maxKeys: number | null): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<KeyRow | null>;
  find(accountId: AccountId, id: string): Promise<KeyRow | null>;
  /** Returns the account's keys after `after`, newest first. */
  page(accountId: AccountId, after: Position | null, limit: number): Promise<RowPage<KeyRow>>;
  /** Returns all keys of the account, newest first, reading page by page. */
  list(accountId: AccountId): Promise<KeyRow[]>;
  count(accountId: AccountId): Promise<number>;
  /**
   * Atomic. Removes the key's row, so revoked keys cost nothing. Returns 'last' if it is the
   * account's only key with scope manage that is unexpired at `nowIso`, 'absent' if the account has
   * no such key.
   */
  revoke(accountId: AccountId, id: string, nowIso: string): Promise<'revoked' | 'absent' | 'last'>;
  /** Best effort. Never moves the stored time back, and never restores a revoked key. */
  touch(id: string, lastUsedAt: string): Promise<void>;
}

/**
 * The keys as an adapter stores them: rows with seals. For its own decisions (the key limit, the
 * last key that can manage) the adapter counts only rows that pass `isAuthenticKey`. It returns
 * rows unverified.
 */
export interface StoredKeys extends Pick<KeyStore, 'count' | 'revoke' | 'touch'> {
  create(row: Sealed<KeyRow>, maxKeys: number | null): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<Sealed<KeyRow> | null>;
  find(accountId: AccountId, id: string): Promise<Sealed<KeyRow> | null>;
  page(accountId: AccountId, after: Position | null, limit: number): Promise<RowPage<Sealed<KeyRow>>>;
}

/** Returns whether the key can manage its account at a time (ISO 8601 UTC). */
export function canManage({ scopes, expiresAt }: KeyRow, nowIso: string): boolean {
  return scopes.includes('manage') && (expiresAt === null || Date.parse(expiresAt) > Date.parse(nowIso));
}

/**
 * Returns whether `other` can replace the managing key `row` once that is revoked. A key that
 * expires cannot replace one that does not.
 */
export function standsInFor(other: KeyRow, row: KeyRow, nowIso: string): boolean {
  return other.id !== row.id && canManage(other, nowIso) && (row.expiresAt !== null || other.expiresAt === null);
}
