import type { Said, Seals } from '../secret/seals.ts';
import type { ForgedRows } from './forged-rows.ts';
import type { KeyRow, KeyStore, StoredKeys } from './keys.ts';
import { allPages, type Page, type Position } from './page.ts';
import type { Sealed } from './sealed.ts';

/**
 * API keys under seals: a key that was forged in the store opens nothing, nor does one whose
 * account or scopes were changed. When a key was used last decides nothing, and is not sealed. One
 * that was revoked can be put back as it was by a person with write access to the store.
 */
export function sealedKeys(stored: StoredKeys, seals: Seals, forged: ForgedRows): KeyStore {
  const believed = (row: Sealed<KeyRow>): KeyRow[] => {
    const { seal: _, ...key } = row;
    if (isSealed(row, seals)) return [key];
    forged.tell('API key', key.id);
    return [];
  };
  const page = async (accountId: string, after: Position | null, limit: number): Promise<Page<KeyRow>> => {
    const { rows, next } = await stored.page(accountId, after, limit);
    return { rows: rows.flatMap(believed).filter((row) => row.accountId === accountId), next };
  };
  return {
    create: (row, maxKeys) => stored.create({ ...row, seal: seals.hex(saidOfKey(row)) }, maxKeys),
    async findByHash(hash) {
      const found = await stored.findByHash(hash);
      return found?.hash === hash ? (believed(found)[0] ?? null) : null;
    },
    page,
    list: (accountId) => allPages((after: Position | null, limit) => page(accountId, after, limit)),
    count: (accountId) => stored.count(accountId),
    revoke: (accountId, id, nowIso) => stored.revoke(accountId, id, nowIso),
    touch: (id, lastUsedAt) => stored.touch(id, lastUsedAt),
  };
}

/** Whether a stored row is a key that the service made for the account. */
export function isBelievedKey(accountId: string, row: Sealed<KeyRow>, seals: Seals): boolean {
  return row.accountId === accountId && isSealed(row, seals);
}

function isSealed(row: Sealed<KeyRow>, seals: Seals): boolean {
  return seals.fitsHex(saidOfKey(row), row.seal);
}

/** What is sealed of an API key. */
export function saidOfKey({ id, accountId, name, hash, prefix, scopes, createdAt, expiresAt }: KeyRow): Said {
  return ['API key', id, accountId, name, hash, prefix, scopes, createdAt, expiresAt];
}
