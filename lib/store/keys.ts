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
 * API keys. One that stands in the store and was not written by the service opens nothing; the
 * operator is told.
 */
export interface KeyStore {
  /** 'limit' when the account already has `maxKeys` keys (null = no limit). Atomic. */
  create(row: KeyRow, maxKeys: number | null): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<KeyRow | null>;
  /** Newest first. */
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

/** What an adapter keeps of it: rows with their seals, of which it believes nothing. */
export interface StoredKeys extends Pick<KeyStore, 'count' | 'revoke' | 'touch'> {
  create(row: Sealed<KeyRow>, maxKeys: number | null): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<Sealed<KeyRow> | null>;
  list(accountId: string): Promise<Sealed<KeyRow>[]>;
}

/**
 * Whether the account could manage itself no longer, now or later, without `row`: it is the only
 * unexpired key with scope manage, or the only one of those that never expires.
 */
export function isLastManageKey(row: KeyRow, keys: KeyRow[], nowMs: number): boolean {
  const manages = ({ scopes, expiresAt }: KeyRow): boolean =>
    scopes.includes('manage') && (expiresAt === null || Date.parse(expiresAt) > nowMs);
  if (!manages(row)) return false;
  const others = keys.filter((key) => key.id !== row.id && manages(key));
  return row.expiresAt === null ? others.every(({ expiresAt }) => expiresAt !== null) : others.length === 0;
}
