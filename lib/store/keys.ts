import type { Page, Position } from './page.ts';
import type { Sealed } from './sealed.ts';

export const SCOPES = ['read', 'write', 'manage'] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * One API key as stored: never the secret, only its SHA-256 (hex) and first 12 characters. Times
 * are ISO 8601 UTC.
 */
export interface KeyRow {
  id: string;
  accountId: string;
  name: string;
  hash: string;
  prefix: string;
  scopes: Scope[];
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
}

/**
 * API keys. One that stands in the store and was not written by the service opens nothing, counts
 * for nothing and stands in for no other; it can be revoked. The operator is told.
 */
export interface KeyStore {
  /** 'limit' when the account already has `maxKeys` keys (null = no limit). Atomic. */
  create(row: KeyRow, maxKeys: number | null): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<KeyRow | null>;
  /** An account's keys after `after`, newest first. */
  page(accountId: string, after: Position | null, limit: number): Promise<Page<KeyRow>>;
  /** All of an account, newest first, read page by page. */
  list(accountId: string): Promise<KeyRow[]>;
  count(accountId: string): Promise<number>;
  /**
   * Removes a key; nothing of it is kept, so that keys that were revoked cost nothing. Atomic.
   * 'last' when it is the account's only unexpired (at `nowIso`) key with scope manage; 'absent'
   * when the account has no key of that id.
   */
  revoke(accountId: string, id: string, nowIso: string): Promise<'revoked' | 'absent' | 'last'>;
  /**
   * Best effort, never back from the newest time already stored; a key that was revoked meanwhile
   * stays away.
   */
  touch(id: string, lastUsedAt: string): Promise<void>;
}

/**
 * What an adapter keeps of it: rows with their seals. Where it decides itself, about what holds of
 * all keys of an account (the limit, the last that can manage), it believes the rows that
 * `isBelievedKey` does. The rows that it returns are for the caller to believe.
 */
export interface StoredKeys extends Pick<KeyStore, 'count' | 'revoke' | 'touch'> {
  create(row: Sealed<KeyRow>, maxKeys: number | null): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<Sealed<KeyRow> | null>;
  page(accountId: string, after: Position | null, limit: number): Promise<Page<Sealed<KeyRow>>>;
}

/** Maximum number of keys per account, whatever its plan allows. */
export const KEYS_MAX = 10_000;

/** Whether the key can manage its account, at a time (ISO 8601 UTC). */
export function canManage({ scopes, expiresAt }: KeyRow, nowIso: string): boolean {
  return scopes.includes('manage') && (expiresAt === null || Date.parse(expiresAt) > Date.parse(nowIso));
}

/**
 * Whether the account can manage itself with `other` once `row`, a key that can, is gone. A key
 * that expires does not stand in for one that never does.
 */
export function standsInFor(other: KeyRow, row: KeyRow, nowIso: string): boolean {
  return other.id !== row.id && canManage(other, nowIso) && (row.expiresAt !== null || other.expiresAt === null);
}
