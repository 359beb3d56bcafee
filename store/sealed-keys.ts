import type { AccountId } from '../lib/ids.ts';
import type { MacPayload, Seals } from '../lib/secret/seals.ts';
import type { ForgedRows } from './forged-rows.ts';
import type { KeyRow, KeyStore, StoredKeys } from './keys.ts';
import { allPages, type Position, type RowPage } from './page.ts';
import type { Sealed } from './sealed.ts';

/**
 * API keys under seals: a forged key, or one whose account or scopes were changed, grants no
 * access. `lastUsedAt` is not sealed and decides nothing. A person with write access to the store
 * can restore a revoked key.
 */
export function sealedKeys(stored: StoredKeys, seals: Seals, forged: ForgedRows): KeyStore {
  const ifValid = (row: Sealed<KeyRow>): KeyRow[] => {
    const { seal: _, ...key } = row;
    if (isSealed(row, seals)) return [key];
    forged.report('API key', key.id);
    return [];
  };
  const page = async (accountId: AccountId, after: Position | null, limit: number): Promise<RowPage<KeyRow>> => {
    const { rows, next } = await stored.page(accountId, after, limit);
    return { rows: rows.flatMap(ifValid).filter((row) => row.accountId === accountId), next };
  };
  return {
    create: (row, maxKeys) => stored.create({ ...row, seal: seals.sealHex(payloadOfKey(row)) }, maxKeys),
    async findByHash(hash) {
      const found = await stored.findByHash(hash);
      return found?.hash === hash ? (ifValid(found)[0] ?? null) : null;
    },
    async find(accountId, id) {
      const found = await stored.find(accountId, id);
      return found?.accountId === accountId && found.id === id ? (ifValid(found)[0] ?? null) : null;
    },
    page,
    list: (accountId) => allPages((after: Position | null, limit) => page(accountId, after, limit)),
    count: (accountId) => stored.count(accountId),
    revoke: (accountId, id, nowIso) => stored.revoke(accountId, id, nowIso),
    touch: (id, lastUsedAt) => stored.touch(id, lastUsedAt),
  };
}

/** Returns whether the service made the stored key for this account. */
export function isAuthenticKey(accountId: AccountId, row: Sealed<KeyRow>, seals: Seals): boolean {
  return row.accountId === accountId && isSealed(row, seals);
}

function isSealed(row: Sealed<KeyRow>, seals: Seals): boolean {
  return seals.verifyHex(payloadOfKey(row), row.seal);
}

/** Returns what the seal of an API key covers. */
export function payloadOfKey({ id, accountId, name, hash, prefix, scopes, createdAt, expiresAt }: KeyRow): MacPayload {
  return ['API key', id, accountId, name, hash, prefix, scopes, createdAt, expiresAt];
}
