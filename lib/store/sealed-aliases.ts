/**
 * Aliases under seals: which collection a name stands for is as the service wrote it, or refused.
 * An alias that was switched or removed can be put back as it was by whoever can write to the
 * store, but not pointed anywhere else.
 */
import { randomUUID } from 'node:crypto';
import type { Said, Seals } from '../secret/seals.ts';
import type { AliasRow, AliasStore, StoredAliases } from './aliases.ts';
import type { ForgedRows } from './forged-rows.ts';
import { allPages, type Page } from './page.ts';
import type { Sealed } from './sealed.ts';

export function sealedAliases(stored: StoredAliases, seals: Seals, forged: ForgedRows): AliasStore {
  const sealed = (row: AliasRow): Sealed<AliasRow> => ({ ...row, seal: seals.hex(saidOfAlias(row)) });
  /** Throws StoreError 'damaged' where what stands there is not the service's. */
  const found = async (accountId: string, alias: string): Promise<Sealed<AliasRow> | null> => {
    const row = await stored.find(accountId, alias);
    if (row === null) return null;
    if (row.accountId !== accountId || row.alias !== alias || !isSealedAlias(row, seals))
      throw forged.refusal('alias', row.id);
    return row;
  };
  const page = async (accountId: string, after: string | null, limit: number): Promise<Page<AliasRow, string>> => {
    const { rows, next } = await stored.page(accountId, after, limit);
    const own = rows.filter((row) => {
      if (row.accountId === accountId && isSealedAlias(row, seals)) return true;
      forged.tell('alias', row.id);
      return false;
    });
    return { rows: own.map(rowOf), next };
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
    page,
    list: (accountId) => allPages((after: string | null, limit) => page(accountId, after, limit)),
    async standingFor(accountId, collectionId) {
      const { real } = await standingAliases(stored, seals, accountId, collectionId);
      return real && rowOf(real);
    },
    async remove(accountId, alias) {
      for (;;) {
        // Of a forged one, too: that frees the name.
        const row = await stored.find(accountId, alias);
        if (row === null) return false;
        if (await stored.remove(accountId, alias, row.seal)) return true;
      }
    },
  };
}

/** Read at once of what stands for a collection: mostly nothing, or a real one among the first. */
const STANDING_AT_ONCE = 16;

/** An alias that stands for a collection, or else the seals of what poses as one. */
export async function standingAliases(
  stored: Pick<StoredAliases, 'page'>,
  seals: Seals,
  accountId: string,
  collectionId: string,
): Promise<{ real: Sealed<AliasRow> | null; forged: string[] }> {
  const forged: string[] = [];
  for (let after: string | null = null; ; ) {
    const page: Page<Sealed<AliasRow>, string> = await stored.page(accountId, after, STANDING_AT_ONCE, collectionId);
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
  return seals.fitsHex(saidOfAlias(row), row.seal);
}

/** What is sealed of an alias. */
export function saidOfAlias({ id, accountId, alias, collectionId, createdAt }: AliasRow): Said {
  return ['alias', id, accountId, alias, collectionId, createdAt];
}
