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
  /** Newest first. */
  list(accountId: string): Promise<KeyRow[]>;
  count(accountId: string): Promise<number>;
  /** Whether anything is stored as a key of the account, whoever wrote it. */
  hasAny(accountId: string): Promise<boolean>;
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
 * What an adapter keeps of it: rows with their seals. It believes those that `believedKeys` does
 * where it decides itself, for what holds of all keys of an account at once: the limit, and the
 * last that can manage. What it gives it leaves to others to believe.
 */
export interface StoredKeys extends Pick<KeyStore, 'count' | 'hasAny' | 'revoke' | 'touch'> {
  create(row: Sealed<KeyRow>, maxKeys: number | null): Promise<'created' | 'limit'>;
  findByHash(hash: string): Promise<Sealed<KeyRow> | null>;
  list(accountId: string): Promise<Sealed<KeyRow>[]>;
}

/**
 * What `revoke` comes to for an account of which `rows` are stored and `believed` is believed. What
 * is not believed is no key, and goes.
 */
export function revocationOf(id: string, rows: KeyRow[], believed: KeyRow[], nowIso: string) {
  if (!rows.some((row) => row.id === id)) return 'absent';
  const own = believed.find((row) => row.id === id);
  return own !== undefined && isLastManageKey(own, believed, Date.parse(nowIso)) ? 'last' : 'revoked';
}

/**
 * Whether the account could manage itself no longer, now or later, without `row`: it is the only
 * unexpired key with scope manage, or the only one of those that never expires.
 */
function isLastManageKey(row: KeyRow, keys: KeyRow[], wallMs: number): boolean {
  const manages = ({ scopes, expiresAt }: KeyRow): boolean =>
    scopes.includes('manage') && (expiresAt === null || Date.parse(expiresAt) > wallMs);
  if (!manages(row)) return false;
  const others = keys.filter((key) => key.id !== row.id && manages(key));
  return row.expiresAt === null ? others.every(({ expiresAt }) => expiresAt !== null) : others.length === 0;
}
