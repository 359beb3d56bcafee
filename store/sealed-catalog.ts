/**
 * Collections and accounts under seals. The owner, name and shards of a collection, whether it was
 * dropped, the plan of an account and whether it is being deleted are as the service wrote them, or
 * the row is refused.
 *
 * Guarantees: a row with an invalid seal, or in another row's place, is never acted on: it causes
 * no drop, no deletion and no change on the ledger or in anchoring. It does not read as absent
 * either: a lookup by name or id throws StoreError 'damaged'. Lists leave it out, so that it hides
 * no other row. Changes are compare-and-set on the row's seal.
 */
import type { AccountId, CollectionId } from '../lib/ids.ts';
import type { MacPayload, Seals } from '../lib/secret/seals.ts';
import type { StoredAliases } from './aliases.ts';
import type {
  AccountRow,
  AccountState,
  Catalog,
  CollectionChange,
  CollectionRow,
  CreateOutcome,
  DropOutcome,
  StoredAccount,
  StoredCatalog,
} from './catalog.ts';
import type { ForgedRows } from './forged-rows.ts';
import { allPages, type Position, type RowPage } from './page.ts';
import type { Sealed } from './sealed.ts';
import { aliasesOfCollection } from './sealed-aliases.ts';

/** 'dropped' while the collection's data is yet to be removed. */
export type CollectionState = 'live' | 'dropped';

export class SealedCatalog implements Catalog {
  readonly #stored: StoredCatalog;
  readonly #aliases: Pick<StoredAliases, 'page'>;
  readonly #seals: Seals;
  readonly #forged: ForgedRows;

  constructor(
    { catalog, aliases }: { catalog: StoredCatalog; aliases: Pick<StoredAliases, 'page'> },
    seals: Seals,
    forged: ForgedRows,
  ) {
    this.#stored = catalog;
    this.#aliases = aliases;
    this.#seals = seals;
    this.#forged = forged;
  }

  createCollection(row: CollectionRow, maxCollections: number | null): Promise<CreateOutcome> {
    return this.#stored.createCollection(this.#sealed(row), maxCollections);
  }

  async findCollection(accountId: AccountId, name: string): Promise<CollectionRow | null> {
    const found = await this.#stored.findCollection(accountId, name);
    return found && this.#theCollection(found, found.accountId === accountId && found.name === name);
  }

  async getCollection(id: CollectionId): Promise<CollectionRow | null> {
    const found = await this.#stored.getCollection(id);
    return found && this.#theCollection(found, found.id === id);
  }

  async collectionsPage(accountId: AccountId, after: Position | null, limit: number): Promise<RowPage<CollectionRow>> {
    const { rows, next } = await this.#stored.collectionsPage(accountId, after, limit);
    return { rows: this.#collections(rows, 'live').filter((row) => row.accountId === accountId), next };
  }

  listCollections(accountId: AccountId): Promise<CollectionRow[]> {
    return allPages((after: Position | null, limit) => this.collectionsPage(accountId, after, limit));
  }

  countCollections(accountId: AccountId): Promise<number> {
    return this.#stored.countCollections(accountId);
  }

  async *allCollections(): AsyncIterable<CollectionRow[]> {
    for await (const rows of this.#stored.allCollections()) yield this.#collections(rows, 'live');
  }

  async changeCollection(
    id: CollectionId,
    change: (row: CollectionRow) => CollectionChange,
  ): Promise<CollectionRow | null> {
    for (;;) {
      const found = await this.#stored.getCollection(id);
      if (found === null) return null;
      const before = this.#theCollection(found, found.id === id);
      const { deletionProtection, tags } = change(before);
      const row = { ...before, deletionProtection, tags };
      if (await this.#stored.replaceCollection(this.#sealed(row), found.seal)) return row;
    }
  }

  async dropCollection(id: CollectionId, evenHeld: boolean): Promise<DropOutcome> {
    for (;;) {
      const found = await this.#stored.getCollection(id);
      if (found === null) return 'gone';
      const row = this.#theCollection(found, found.id === id);
      if (row.deletionProtection && !evenHeld) return 'protected';
      const forged = evenHeld ? null : await this.#forgedAliases(row);
      if (forged === 'aliased') return 'aliased';
      const droppedSeal = this.#seals.sealHex(payloadOfCollection(row, 'dropped'));
      if (await this.#stored.dropCollection(found, droppedSeal, forged)) return 'dropped';
    }
  }

  /** Returns the seals of forged aliases of the collection, or 'aliased' if it has a real one. */
  async #forgedAliases({ id, accountId }: CollectionRow): Promise<string[] | 'aliased'> {
    const { real, forged } = await aliasesOfCollection(this.#aliases, this.#seals, accountId, id);
    return real === null ? forged : 'aliased';
  }

  async listDropped(): Promise<CollectionRow[]> {
    return this.#collections(await this.#stored.listDropped(), 'dropped');
  }

  forgetDropped(id: CollectionId): Promise<void> {
    return this.#stored.forgetDropped(id);
  }

  createAccount(row: AccountRow): Promise<void> {
    return this.#stored.createAccount({ ...row, seal: this.#seals.sealHex(payloadOfAccount(row, 'live')) });
  }

  async getAccount(id: AccountId): Promise<AccountRow | null> {
    const found = await this.#stored.getAccount(id);
    if (found === null) return null;
    const row = this.#theAccount(found, id);
    return found.state === 'live' ? row : null;
  }

  async accountsPage(after: Position | null, limit: number): Promise<RowPage<AccountRow>> {
    const { rows, next } = await this.#accounts('live', after, limit);
    return { rows: rows.map(({ row }) => row), next };
  }

  listAccounts(): Promise<AccountRow[]> {
    return allPages((after: Position | null, limit) => this.accountsPage(after, limit));
  }

  async setPlan(id: AccountId, plan: AccountRow['plan']): Promise<AccountRow | null> {
    for (;;) {
      const found = await this.#stored.getAccount(id);
      if (found === null) return null;
      const before = this.#theAccount(found, id);
      if (found.state !== 'live') return null;
      const row = { ...before, plan };
      const seal = this.#seals.sealHex(payloadOfAccount(row, 'live'));
      if (await this.#stored.replaceAccount({ ...row, seal }, found.seal)) return row;
    }
  }

  hasAccountOfPlan(plan: AccountRow['plan']): Promise<boolean> {
    return this.#stored.hasAccountOfPlan(plan);
  }

  async deleteAccount(id: AccountId): Promise<boolean> {
    for (;;) {
      const found = await this.#stored.getAccount(id);
      if (found === null) return false;
      const row = this.#theAccount(found, id);
      const isAtIt = found.state === 'deleting';
      const deletingSeal = isAtIt ? found.seal : this.#seals.sealHex(payloadOfAccount(row, 'deleting'));
      if (await this.#stored.deleteAccount(id, found.seal, deletingSeal)) return true;
    }
  }

  /** Finishes interrupted deletions of accounts whose seal confirms that deletion had begun. */
  async endDeletions(): Promise<void> {
    const begun = await allPages((after: Position | null, limit) => this.#accounts('deleting', after, limit));
    for (const { row, seal } of begun) await this.#stored.deleteAccount(row.id, seal, seal);
  }

  #sealed(row: CollectionRow): Sealed<CollectionRow> {
    return { ...row, seal: this.#seals.sealHex(payloadOfCollection(row, 'live')) };
  }

  /**
   * Throws StoreError 'damaged' if the row is not the service's, or not the requested one
   * (`isAsked`).
   */
  #theCollection(found: Sealed<CollectionRow>, isAsked: boolean): CollectionRow {
    const [row] = isAsked ? this.#collections([found], 'live') : [];
    if (row === undefined) throw this.#forged.refusal('collection', found.id);
    return row;
  }

  #collections(found: Sealed<CollectionRow>[], state: CollectionState): CollectionRow[] {
    return found.flatMap(({ seal, ...row }) => {
      if (this.#seals.verifyHex(payloadOfCollection(row, state), seal)) return [row];
      this.#forged.report('collection', row.id);
      return [];
    });
  }

  /** Throws StoreError 'damaged' if the row is not the service's, or not the one of `id`. */
  #theAccount(found: StoredAccount, id: AccountId): AccountRow {
    const row = this.#account(found);
    if (row?.id !== id) throw this.#forged.refusal('account', id);
    return row;
  }

  async #accounts(
    state: AccountState,
    after: Position | null,
    limit: number,
  ): Promise<RowPage<{ row: AccountRow; seal: string }>> {
    const { rows, next } = await this.#stored.accountsPage(after, limit);
    const found = rows.filter((account) => account.state === state);
    const valid = found.flatMap((account) => {
      const row = this.#account(account);
      return row === null ? [] : [{ row, seal: account.seal }];
    });
    return { rows: valid, next };
  }

  #account({ seal, state, ...row }: StoredAccount): AccountRow | null {
    if (this.#seals.verifyHex(payloadOfAccount(row, state), seal)) return row;
    this.#forged.report('account', row.id);
    return null;
  }
}

/** Returns what the seal of a collection covers. */
export function payloadOfCollection(row: CollectionRow, state: CollectionState): MacPayload {
  const { id, accountId, name, dimensions, metric, shards, replicas, quantization, deletionProtection, createdAt } =
    row;
  const body = [id, accountId, name, dimensions, metric, shards, replicas, quantization, deletionProtection, createdAt];
  return ['collection', state, ...body, ...(row.tags === undefined ? [] : [row.tags])];
}

/** Returns what the seal of an account covers. */
export function payloadOfAccount({ id, name, plan, createdAt }: AccountRow, state: AccountState): MacPayload {
  return [state === 'live' ? 'account' : 'account that is being deleted', id, name, plan, createdAt];
}
