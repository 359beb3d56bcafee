/**
 * Aliases under seals: an alias points where the service pointed it, or is refused. An attacker who
 * can write to the store can restore an alias that was changed or removed, but cannot point one
 * anywhere else.
 */

import { randomUUID } from 'node:crypto';
import type { AccountId, CollectionId } from '../lib/ids.ts';
import type { MacPayload, Seals } from '../lib/secret/seals.ts';
import type { AliasRow, AliasStore, StoredAliases } from './aliases.ts';
import type { ForgedRows } from './forged-rows.ts';
import type { RowPage } from './page.ts';
import type { Sealed } from './sealed.ts';

export function sealedAliases(stored: StoredAliases, seals: Seals, forged: ForgedRows): AliasStore {
  const sealed = (row: AliasRow): Sealed<AliasRow> => ({ ...row, seal: seals.sealHex(payloadOfAlias(row)) });
  /** Throws StoreError 'damaged' if the stored row is not the service's. */
  const found = async (accountId: AccountId, alias: string): Promise<Sealed<AliasRow> | null> => {
    const row = await stored.find(accountId, alias);
    if (row === null) return null;
    if (row.accountId !== accountId || row.alias !== alias || !isSealedAlias(row, seals))
      throw forged.refusal('alias', row.id);
    return row;
  };
  return {
    async put(row, maxAliases) {
      for (;;) {
        const before = await found(row.accountId, row.alias);
        if (before === null) {
          const outcome = await stored.insert(sealed({ ...row, id: randomUUID() }), maxAliases);
          if (outcome !== 'alias') return outcome;
        } else {
          const { id, createdAt } = before;
          const outcome = await stored.replace(sealed({ ...row, id, createdAt }), before);
          if (outcome !== 'changed') return outcome;
        }
      }
    },
    async find(accountId, alias) {
      const row = await found(accountId, alias);
      return row && rowOf(row);
    },
    async page(accountId, after, limit) {
      const { rows, next } = await stored.page(accountId, after, limit);
      const own = rows.filter((row) => {
        if (row.accountId === accountId && isSealedAlias(row, seals)) return true;
        forged.report('alias', row.id);
        return false;
      });
      return { rows: own.map(rowOf), next };
    },
    async findByCollection(accountId, collectionId) {
      const { real } = await aliasesOfCollection(stored, seals, accountId, collectionId);
      return real && rowOf(real);
    },
    async remove(accountId, alias) {
      for (;;) {
        // Forged aliases can be removed too, which frees the name.
        const row = await stored.find(accountId, alias);
        if (row === null) return false;
        if (await stored.remove(accountId, alias, row.seal)) return true;
      }
    },
  };
}

/** Aliases of a collection read per page. Usually there are none, or a real one among the first. */
const ALIASES_PER_PAGE = 16;

/** Returns a valid alias of the collection, or else the seals of the forged ones. */
export async function aliasesOfCollection(
  stored: Pick<StoredAliases, 'page'>,
  seals: Seals,
  accountId: AccountId,
  collectionId: CollectionId,
): Promise<{ real: Sealed<AliasRow> | null; forged: string[] }> {
  const forged: string[] = [];
  for (let after: string | null = null; ; ) {
    const page: RowPage<Sealed<AliasRow>, string> = await stored.page(accountId, after, ALIASES_PER_PAGE, collectionId);
    const real = page.rows.find((row) => row.accountId === accountId && isSealedAlias(row, seals));
    if (real !== undefined) return { real, forged };
    forged.push(...page.rows.map(({ seal }) => seal));
    if (page.next === null) return { real: null, forged };
    after = page.next;
  }
}

function rowOf({ seal: _, ...row }: Sealed<AliasRow>): AliasRow {
  return row;
}

function isSealedAlias(row: Sealed<AliasRow>, seals: Seals): boolean {
  return seals.verifyHex(payloadOfAlias(row), row.seal);
}

/** Returns what the seal of an alias covers. */
export function payloadOfAlias({ id, accountId, alias, collectionId, createdAt }: AliasRow): MacPayload {
  return ['alias', id, accountId, alias, collectionId, createdAt];
}
