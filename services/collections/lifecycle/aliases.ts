import pLimit from 'p-limit';
import type { AliasesPage, AliasView } from '../../../contracts/actions/collections.ts';
import { collectionName } from '../../../contracts/requests/collection-requests.ts';
import { cursorAfter, nameOfCursor } from '../../../contracts/requests/listing-cursor.ts';
import { notFound, ProvecError, unauthenticated } from '../../../lib/errors.ts';
import { isCollectionName } from '../../../lib/records/collection-name.ts';
import type { Runtime } from '../../../process/runtime.ts';
import type { AliasRow } from '../../../store/aliases.ts';
import type { StoreError } from '../../../store/port.ts';
import type { CollectionCatalog } from './catalog.ts';

/** Maximum number of collections that a page of aliases reads at once. */
const READ_AT_ONCE = 16;

/**
 * Alternative names of an account's collections.
 *
 * An alias points to one collection at a time and is never a collection's name. After `put`
 * resolves, every lookup that begins later finds the new collection, on every node. An alias of a
 * deleted collection counts as absent.
 */
export class Aliases {
  readonly #runtime: Pick<Runtime, 'store' | 'config' | 'clock'>;
  readonly #catalog: CollectionCatalog;

  constructor(runtime: Pick<Runtime, 'store' | 'config' | 'clock'>, catalog: CollectionCatalog) {
    this.#runtime = runtime;
    this.#catalog = catalog;
  }

  /**
   * Creates or switches the alias. Throws INVALID_ARGUMENT, COLLECTION_NOT_FOUND, NAME_IS_ALIAS if
   * the target is itself an alias, COLLECTION_EXISTS and ALIAS_LIMIT_REACHED.
   */
  async put(accountId: string, alias: string, collection: string): Promise<AliasView & { created: boolean }> {
    const { config, store, clock } = this.#runtime;
    const name = collectionName(config.limits).decode(alias, 'alias', {});
    const target = await this.#catalog.byOwnName(accountId, collection);
    const createdAt = new Date(clock.wallMs()).toISOString();
    const { aliasesMax } = config.limits;
    const row = { accountId, alias: name, collectionId: target.id, createdAt };
    // Clears the cache even if the write failed, since it may have taken effect.
    const forget = (): void => this.#catalog.forgetAlias(accountId, name);
    const outcome = await store.aliases.put(row, aliasesMax).finally(forget);
    switch (outcome) {
      case 'no target':
        throw notFound('COLLECTION_NOT_FOUND');
      case 'collection':
        throw new ProvecError('COLLECTION_EXISTS', `${name} is the name of a collection.`);
      case 'limit':
        throw new ProvecError('ALIAS_LIMIT_REACHED', `The account has ${aliasesMax} aliases; delete one first.`);
      case 'created':
        // The account was deleted while this node still had the key in its cache.
        if ((await store.catalog.getAccount(accountId)) === null) {
          await store.aliases.remove(accountId, name).finally(forget);
          throw unauthenticated();
        }
    }
    return { alias: name, collection: target.name, created: outcome === 'created' };
  }

  /** Throws ALIAS_NOT_FOUND. */
  async get(accountId: string, alias: string): Promise<AliasView> {
    const { config, store } = this.#runtime;
    const row = isCollectionName(alias, config.limits) ? await store.aliases.find(accountId, alias) : null;
    const target = row && (await store.catalog.getCollection(row.collectionId));
    if (row === null || target?.accountId !== accountId) throw notFound('ALIAS_NOT_FOUND');
    return { alias, collection: target.name };
  }

  /** Returns one page, by name. Throws INVALID_ARGUMENT for an invalid cursor. */
  async page(accountId: string, limit: number, cursor?: string): Promise<AliasesPage> {
    const after = cursor === undefined ? null : nameOfCursor(cursor);
    const { rows, next } = await this.#runtime.store.aliases.page(accountId, after, limit);
    const aliases = await this.#views(accountId, rows);
    return { aliases, ...(next !== null && { nextCursor: cursorAfter(next) }) };
  }

  /** Adds the names of the collections, each read once. Drops aliases whose collection is gone. */
  async #views(accountId: string, rows: AliasRow[]): Promise<AliasView[]> {
    const { catalog } = this.#runtime.store;
    const ids = [...new Set(rows.map(({ collectionId }) => collectionId))];
    const found = await pLimit(READ_AT_ONCE).map(ids, (id) => catalog.getCollection(id).catch(orNoneIfDamaged));
    const own = found.flatMap((row) => (row?.accountId === accountId ? [row] : []));
    const names = new Map(own.map(({ id, name }) => [id, name]));
    return rows.flatMap(({ alias, collectionId }) => {
      const collection = names.get(collectionId);
      return collection === undefined ? [] : [{ alias, collection }];
    });
  }

  /** Throws ALIAS_NOT_FOUND. */
  async remove(accountId: string, alias: string): Promise<void> {
    const { config, store } = this.#runtime;
    if (!isCollectionName(alias, config.limits)) throw notFound('ALIAS_NOT_FOUND');
    const forget = (): void => this.#catalog.forgetAlias(accountId, alias);
    if (!(await store.aliases.remove(accountId, alias).finally(forget))) throw notFound('ALIAS_NOT_FOUND');
  }
}

/** Skips damaged rows in lists. */
function orNoneIfDamaged(error: unknown): null {
  if ((error as StoreError).kind === 'damaged') return null;
  throw error;
}
