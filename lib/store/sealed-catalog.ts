/**
 * Collections and accounts under seals: who owns a collection, under which name, with which shards,
 * whether it was dropped, and which plan an account has or that it is being deleted is as the
 * service wrote it, or refused.
 *
 * Promises: a row that does not bear its seal, or stands where another belongs, is never acted on:
 * nothing is dropped, deleted, closed on the ledger or taken out of anchoring for it. It is no
 * absence either: whoever asks for it by name or id gets StoreError 'damaged'. Lists leave it out,
 * so that it hides no other. A change is a compare-and-set of the seal that the row had.
 */
import type { Said, Seals } from '../secret/seals.ts';
import type { StoredAliases } from './aliases.ts';
import type {
  AccountRow,
  AccountState,
  Catalog,
  CollectionChange,
  CollectionRow,
  Creation,
  Drop,
  StoredAccount,
  StoredCatalog,
} from './catalog.ts';
import type { ForgedRows } from './forged-rows.ts';
import { allPages, type Page, type Position } from './page.ts';
import type { Sealed } from './sealed.ts';
import { standingAliases } from './sealed-aliases.ts';

/** Whether a collection is there, or was dropped and is to be cleared away. */
export type State = 'live' | 'dropped';

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

  createCollection(row: CollectionRow, maxCollections: number | null): Promise<Creation> {
    return this.#stored.createCollection(this.#sealed(row), maxCollections);
  }

  async findCollection(accountId: string, name: string): Promise<CollectionRow | null> {
    const found = await this.#stored.findCollection(accountId, name);
    return found && this.#theCollection(found, found.accountId === accountId && found.name === name);
  }

  async getCollection(id: string): Promise<CollectionRow | null> {
    const found = await this.#stored.getCollection(id);
    return found && this.#theCollection(found, found.id === id);
  }

  async collectionsPage(accountId: string, after: Position | null, limit: number): Promise<Page<CollectionRow>> {
    const { rows, next } = await this.#stored.collectionsPage(accountId, after, limit);
    return { rows: this.#collections(rows, 'live').filter((row) => row.accountId === accountId), next };
  }

  listCollections(accountId: string): Promise<CollectionRow[]> {
    return allPages((after: Position | null, limit) => this.collectionsPage(accountId, after, limit));
  }

  countCollections(accountId: string): Promise<number> {
    return this.#stored.countCollections(accountId);
  }

  async *allCollections(): AsyncIterable<CollectionRow[]> {
    for await (const rows of this.#stored.allCollections()) yield this.#collections(rows, 'live');
  }

  async changeCollection(id: string, change: (row: CollectionRow) => CollectionChange): Promise<CollectionRow | null> {
    for (;;) {
      const found = await this.#stored.getCollection(id);
      if (found === null) return null;
      const before = this.#theCollection(found, found.id === id);
      const { deletionProtection, tags } = change(before);
      const row = { ...before, deletionProtection, tags };
      if (await this.#stored.replaceCollection(this.#sealed(row), found.seal)) return row;
    }
  }

  async dropCollection(id: string, evenHeld = true): Promise<Drop> {
    for (;;) {
      const found = await this.#stored.getCollection(id);
      if (found === null) return 'gone';
      const row = this.#theCollection(found, found.id === id);
      if (row.deletionProtection && !evenHeld) return 'protected';
      const forged = evenHeld ? null : await this.#forgedAliases(row);
      if (forged === 'aliased') return 'aliased';
      const droppedSeal = this.#seals.hex(saidOfCollection(row, 'dropped'));
      if (await this.#stored.dropCollection(found, droppedSeal, forged)) return 'dropped';
    }
  }

  /** Seals of what poses as an alias of the collection; 'aliased' where there is a real one. */
  async #forgedAliases({ id, accountId }: CollectionRow): Promise<string[] | 'aliased'> {
    const { real, forged } = await standingAliases(this.#aliases, this.#seals, accountId, id);
    return real === null ? forged : 'aliased';
  }

  async listDropped(): Promise<CollectionRow[]> {
    return this.#collections(await this.#stored.listDropped(), 'dropped');
  }

  forgetDropped(id: string): Promise<void> {
    return this.#stored.forgetDropped(id);
  }

  createAccount(row: AccountRow): Promise<void> {
    return this.#stored.createAccount({ ...row, seal: this.#seals.hex(saidOfAccount(row, 'live')) });
  }

  async getAccount(id: string): Promise<AccountRow | null> {
    const found = await this.#stored.getAccount(id);
    if (found === null) return null;
    const row = this.#theAccount(found, id);
    return found.state === 'live' ? row : null;
  }

  async accountsPage(after: Position | null, limit: number): Promise<Page<AccountRow>> {
    const { rows, next } = await this.#accounts('live', after, limit);
    return { rows: rows.map(({ row }) => row), next };
  }

  listAccounts(): Promise<AccountRow[]> {
    return allPages((after: Position | null, limit) => this.accountsPage(after, limit));
  }

  async setPlan(id: string, plan: AccountRow['plan']): Promise<AccountRow | null> {
    for (;;) {
      const found = await this.#stored.getAccount(id);
      if (found === null) return null;
      const before = this.#theAccount(found, id);
      if (found.state !== 'live') return null;
      const row = { ...before, plan };
      const seal = this.#seals.hex(saidOfAccount(row, 'live'));
      if (await this.#stored.replaceAccount({ ...row, seal }, found.seal)) return row;
    }
  }

  async deleteAccount(id: string): Promise<boolean> {
    for (;;) {
      const found = await this.#stored.getAccount(id);
      if (found === null) return false;
      const row = this.#theAccount(found, id);
      const isAtIt = found.state === 'deleting';
      const deletingSeal = isAtIt ? found.seal : this.#seals.hex(saidOfAccount(row, 'deleting'));
      if (await this.#stored.deleteAccount(id, found.seal, deletingSeal)) return true;
    }
  }

  /**
   * Ends the deletion of accounts that was cut short: of those alone that say so under their seal.
   */
  async endDeletions(): Promise<void> {
    const begun = await allPages((after: Position | null, limit) => this.#accounts('deleting', after, limit));
    for (const { row, seal } of begun) await this.#stored.deleteAccount(row.id, seal, seal);
  }

  #sealed(row: CollectionRow): Sealed<CollectionRow> {
    return { ...row, seal: this.#seals.hex(saidOfCollection(row, 'live')) };
  }

  /**
   * Throws StoreError 'damaged' where the row is not the one that `isAsked` for, or is not the
   * service's.
   */
  #theCollection(found: Sealed<CollectionRow>, isAsked: boolean): CollectionRow {
    const [row] = isAsked ? this.#collections([found], 'live') : [];
    if (row === undefined) throw this.#forged.refusal('collection', found.id);
    return row;
  }

  #collections(found: Sealed<CollectionRow>[], state: State): CollectionRow[] {
    return found.flatMap(({ seal, ...row }) => {
      if (this.#seals.fitsHex(saidOfCollection(row, state), seal)) return [row];
      this.#forged.tell('collection', row.id);
      return [];
    });
  }

  /** Throws StoreError 'damaged' where the row is not the one of `id`, or is not the service's. */
  #theAccount(found: StoredAccount, id: string): AccountRow {
    const row = this.#account(found);
    if (row?.id !== id) throw this.#forged.refusal('account', id);
    return row;
  }

  async #accounts(
    state: AccountState,
    after: Position | null,
    limit: number,
  ): Promise<Page<{ row: AccountRow; seal: string }>> {
    const { rows, next } = await this.#stored.accountsPage(after, limit);
    const found = rows.filter((account) => account.state === state);
    const believed = found.flatMap((account) => {
      const row = this.#account(account);
      return row === null ? [] : [{ row, seal: account.seal }];
    });
    return { rows: believed, next };
  }

  #account({ seal, state, ...row }: StoredAccount): AccountRow | null {
    if (this.#seals.fitsHex(saidOfAccount(row, state), seal)) return row;
    this.#forged.tell('account', row.id);
    return null;
  }
}

/** What is sealed of a collection. */
export function saidOfCollection(row: CollectionRow, state: State): Said {
  const { id, accountId, name, dimensions, metric, shards, replicas, quantization, deletionProtection, createdAt } =
    row;
  const said = [id, accountId, name, dimensions, metric, shards, replicas, quantization, deletionProtection, createdAt];
  return ['collection', state, ...said, ...(row.tags === undefined ? [] : [row.tags])];
}

/** What is sealed of an account. */
export function saidOfAccount({ id, name, plan, createdAt }: AccountRow, state: AccountState): Said {
  return [state === 'live' ? 'account' : 'account that is being deleted', id, name, plan, createdAt];
}
