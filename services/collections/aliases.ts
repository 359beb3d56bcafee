import pLimit from 'p-limit';
import type { AliasesPage, AliasView } from '../../lib/actions/collections.ts';
import { notFound, ProvecError, unauthenticated } from '../../lib/errors.ts';
import { isCollectionName } from '../../lib/requests/collection-name.ts';
import { collectionName } from '../../lib/requests/collection-requests.ts';
import { cursorAfter, nameOfCursor } from '../../lib/requests/listing-cursor.ts';
import { requestsOf } from '../../lib/requests/requests.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { AliasRow } from '../../lib/store/aliases.ts';
import type { StoreError } from '../../lib/store/port.ts';
import type { CollectionCatalog } from './catalog.ts';

/** Collections whose names a page of aliases reads at once. */
const READ_AT_ONCE = 16;

/**
 * Other names of an account's collections.
 *
 * Promises: an alias stands for one collection at a time, and is no collection's name. Once `put`
 * has resolved, every look-up of the name that begins afterwards finds the new collection, on every
 * node. How it fails: an alias whose collection is gone counts as absent.
 */
export class Aliases {
  readonly #runtime: Pick<Runtime, 'store' | 'config' | 'clock'>;
  readonly #catalog: CollectionCatalog;

  constructor(runtime: Pick<Runtime, 'store' | 'config' | 'clock'>, catalog: CollectionCatalog) {
    this.#runtime = runtime;
    this.#catalog = catalog;
  }

  /**
   * Makes the alias, or switches it. Throws INVALID_ARGUMENT, COLLECTION_NOT_FOUND, NAME_IS_ALIAS
   * for a target that is an alias itself, COLLECTION_EXISTS and ALIAS_LIMIT_REACHED.
   */
  async put(accountId: string, alias: string, body: object): Promise<AliasView & { created: boolean }> {
    const { config, store, clock } = this.#runtime;
    const name = collectionName(config.limits).decode(alias, 'alias', {});
    const { collection } = requestsOf(config.limits).putAlias.decode(body);
    const target = await this.#catalog.named(accountId, collection);
    const createdAt = new Date(clock.wallMs()).toISOString();
    const { aliasesMax } = config.limits;
    const row = { accountId, alias: name, collectionId: target.id, createdAt };
    // Whatever comes of it, even where nobody knows.
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
        // Its key was still in the cache of this node when the account was deleted.
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

  /** By name. */
  async list(accountId: string): Promise<AliasView[]> {
    return this.#views(accountId, await this.#runtime.store.aliases.list(accountId));
  }

  /** One page of them. Throws INVALID_ARGUMENT for a bad cursor. */
  async page(accountId: string, limit: number, cursor?: string): Promise<AliasesPage> {
    const after = cursor === undefined ? null : nameOfCursor(cursor);
    const { rows, next } = await this.#runtime.store.aliases.page(accountId, after, limit);
    const aliases = await this.#views(accountId, rows);
    return { aliases, ...(next !== null && { nextCursor: cursorAfter(next) }) };
  }

  /** With the names of the collections, each read once; without aliases that have none. */
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

/** A list leaves out what the service did not write. */
function orNoneIfDamaged(error: unknown): null {
  if ((error as StoreError).kind === 'damaged') return null;
  throw error;
}
