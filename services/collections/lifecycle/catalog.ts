/**
 * Collections of all accounts by name, with a cache of recently used rows.
 *
 * A name resolves to the current row with that name, never to a deleted one. `use` keeps a
 * collection's data from being dropped while an operation on it runs, and no operation starts on a
 * dropped collection. Rows are cached only if this process alone creates and drops them; otherwise
 * each is read when needed.
 */

import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { NamedCollection } from '../../../contracts/actions/collections.ts';
import type { DecodedRequest } from '../../../contracts/requests/requests.ts';
import { withPlace, withTags } from '../../../contracts/requests/tags.ts';
import { getOrThrow } from '../../../lib/checked-access.ts';
import { notFound, ProvecError, unknownCollection } from '../../../lib/errors.ts';
import { nearest } from '../../../lib/nearest.ts';
import type { PlanLimits } from '../../../lib/plans.ts';
import { isCollectionName } from '../../../lib/records/collection-name.ts';
import { CoalescedReads } from '../../../lib/time/coalesced-reads.ts';
import { isShared } from '../../../process/node-home.ts';
import type { Runtime } from '../../../process/runtime.ts';
import type { CollectionRow, DropOutcome } from '../../../store/catalog.ts';

const CACHED_ROWS_MAX = 10_000;
/** Maximum number of collections in an account for a 404 to suggest a similar name. */
const SUGGESTED_FROM_MAX = 100;

/**
 * Outcome of a creation: the row; the plan's number of collections is reached; the collection has
 * more shards than the plan allows; or the account is gone, and the row was dropped again.
 */
type CreateCollectionOutcome =
  | { outcome: 'created' | 'no account'; row: CollectionRow }
  | { outcome: 'limit' }
  | { outcome: 'shards'; shards: number };

type CatalogRuntime = Pick<Runtime, 'store' | 'config' | 'clock'>;

export class CollectionCatalog {
  readonly #runtime: CatalogRuntime;
  /** True if no other process creates or drops collections. */
  readonly #isAlone: boolean;
  readonly #rows = new LRUCache<string, CollectionRow>({ max: CACHED_ROWS_MAX });
  /** Targets of aliases. */
  readonly #aliased = new LRUCache<string, CollectionRow>({ max: CACHED_ROWS_MAX });
  readonly #found = new CoalescedReads<CollectionRow | null>();
  /** Counts changes and drops. A row that was read while this changed is not cached. */
  #changes = 0;
  #users = new Map<string, number>();
  #idle = new Map<string, () => void>();
  /** Ids that this process dropped: rows of them that callers still have are outdated. */
  readonly #dropped = new LRUCache<string, true>({ max: CACHED_ROWS_MAX });

  constructor(runtime: CatalogRuntime) {
    this.#runtime = runtime;
    this.#isAlone = !isShared(runtime.config);
  }

  /**
   * Throws COLLECTION_EXISTS and ALIAS_EXISTS. If the account is gone, drops the collection again.
   */
  async create(
    accountId: string,
    request: DecodedRequest<'createIndex'>,
    plan: Pick<PlanLimits, 'collections' | 'shards'>,
  ): Promise<CreateCollectionOutcome> {
    const { limits } = this.#runtime.config;
    const { name, dimensions, metric, shards, replicas, quantization, deletionProtection } = request;
    const options = { name, dimensions, metric, shards, replicas, quantization, deletionProtection };
    if (plan.shards !== null && shards > plan.shards) return { outcome: 'shards', shards };
    const createdAt = new Date(this.#runtime.clock.wallMs()).toISOString();
    const tags = withPlace(withTags(undefined, request.tags ?? {}, limits), request.place);
    const row: CollectionRow = { id: randomUUID(), accountId, ...options, ...(tags && { tags }), createdAt };
    switch (await this.#runtime.store.catalog.createCollection(row, plan.collections)) {
      case 'alias':
        throw new ProvecError('ALIAS_EXISTS', `${row.name} is an alias; delete it first, or choose another name.`);
      case 'exists':
        throw new ProvecError('COLLECTION_EXISTS', `A collection named ${row.name} already exists.`);
      case 'limit':
        return { outcome: 'limit' };
      case 'created':
        if ((await this.#runtime.store.catalog.getAccount(accountId)) !== null) return { outcome: 'created', row };
        // The account was deleted while this node still had the key in its cache, so the collection
        // has no owner.
        await this.drop(row, true);
        return { outcome: 'no account', row };
    }
  }

  /** Throws COLLECTION_NOT_FOUND. */
  async resolve(accountId: string, name: string): Promise<CollectionRow> {
    if (!isCollectionName(name, this.#runtime.config.limits)) throw notFound('COLLECTION_NOT_FOUND');
    const key = cacheKey(accountId, name);
    const cached = this.#rows.get(key) ?? this.#aliased.get(key);
    if (cached) return cached;
    const changes = this.#changes;
    const row = await this.#found.get(key, () => this.#find(accountId, name));
    if (!row) throw unknownCollection(name);
    if (this.#isAlone && changes === this.#changes) (row.name === name ? this.#rows : this.#aliased).set(key, row);
    return row;
  }

  /** Finds a collection by its name or by an alias. */
  async #find(accountId: string, name: string): Promise<CollectionRow | null> {
    const { catalog, aliases } = this.#runtime.store;
    const row = await catalog.findCollection(accountId, name);
    if (row !== null) return row;
    for (let alias = await aliases.find(accountId, name); alias !== null; ) {
      const target = await catalog.getCollection(alias.collectionId);
      if (target?.accountId === accountId) return target;
      // Meanwhile the alias may have been switched and the collection deleted.
      const now = await aliases.find(accountId, name);
      if (now?.collectionId === alias.collectionId) return null;
      alias = now;
    }
    return null;
  }

  /** Finds a collection by its own name only. Throws COLLECTION_NOT_FOUND and NAME_IS_ALIAS. */
  async byOwnName(accountId: string, name: string): Promise<CollectionRow> {
    const row = await this.resolve(accountId, name);
    if (row.name === name) return row;
    throw new ProvecError('NAME_IS_ALIAS', `${name} is an alias of ${row.name}; name the collection itself.`);
  }

  /** Drops the cached target of an alias that may have changed. */
  forgetAlias(accountId: string, alias: string): void {
    this.#changes += 1;
    this.#aliased.delete(cacheKey(accountId, alias));
  }

  /** Returns the name of a collection or an alias of the account that resembles `name`, or null. */
  async nearestName(accountId: string, name: string): Promise<string | null> {
    return nearest(name, await this.#names(accountId));
  }

  /** Returns the names of an account's collections and aliases; none if there are too many. */
  async #names(accountId: string): Promise<string[]> {
    const { catalog, aliases } = this.#runtime.store;
    if ((await catalog.countCollections(accountId)) > SUGGESTED_FROM_MAX) return [];
    const [collections, others] = await Promise.all([
      catalog.collectionsPage(accountId, null, SUGGESTED_FROM_MAX),
      aliases.page(accountId, null, SUGGESTED_FROM_MAX),
    ]);
    return [...collections.rows.map(({ name }) => name), ...others.rows.map(({ alias }) => alias)];
  }

  /** Runs an operation while keeping the collection's data. Throws COLLECTION_NOT_FOUND. */
  async use<T>(named: NamedCollection, operation: (row: CollectionRow) => Promise<T>): Promise<T> {
    let row = named.collection;
    // The loop ends, because a lookup that begins after a drop does not find the collection.
    while (row === undefined || this.#dropped.has(row.id)) row = await this.#current(named);
    this.#users.set(row.id, (this.#users.get(row.id) ?? 0) + 1);
    try {
      return await operation(row);
    } finally {
      const left = getOrThrow(this.#users, row.id) - 1;
      if (left > 0) this.#users.set(row.id, left);
      else {
        this.#users.delete(row.id);
        this.#idle.get(row.id)?.();
      }
    }
  }

  #current({ accountId, name, collection, collectionId = collection?.id }: NamedCollection): Promise<CollectionRow> {
    return collectionId === undefined ? this.resolve(accountId, name) : this.#get(collectionId, accountId, name);
  }

  /** Finds a collection by id, regardless of its current name. */
  async #get(id: string, accountId: string, name: string): Promise<CollectionRow> {
    const row = await this.#runtime.store.catalog.getCollection(id);
    if (row?.accountId === accountId) return row;
    throw new ProvecError('COLLECTION_NOT_FOUND', `The collection that was named ${name} has been deleted.`);
  }

  /**
   * Sets tags and deletion protection. Throws INVALID_ARGUMENT, and COLLECTION_NOT_FOUND if the
   * collection was dropped meanwhile.
   */
  async change(row: CollectionRow, request: DecodedRequest<'changeCollection'>): Promise<CollectionRow> {
    const { deletionProtection, tags = {} } = request;
    try {
      const changed = await this.#runtime.store.catalog.changeCollection(row.id, (before) => ({
        deletionProtection: deletionProtection ?? before.deletionProtection,
        tags: withTags(before.tags, tags, this.#runtime.config.limits),
      }));
      if (changed === null) throw notFound('COLLECTION_NOT_FOUND');
      return changed;
    } finally {
      this.#forget(row);
    }
  }

  /**
   * Drops a collection, which frees its name, and returns its row. Throws COLLECTION_NOT_FOUND,
   * NAME_IS_ALIAS, FORBIDDEN if deletion protection is on, and COLLECTION_HAS_ALIAS.
   */
  async dropByName(accountId: string, name: string): Promise<CollectionRow> {
    const row = await this.byOwnName(accountId, name);
    switch (await this.drop(row, false)) {
      case 'dropped':
        return row;
      case 'gone':
        throw notFound('COLLECTION_NOT_FOUND');
      case 'protected':
        throw new ProvecError(
          'FORBIDDEN',
          `The collection ${name} is protected from deletion; turn its deletion protection off first.`,
        );
      case 'aliased':
        throw await this.#aliasedError(row);
    }
  }

  /** Drops a collection. `evenHeld`: even if it is protected or has an alias. */
  async drop(row: CollectionRow, evenHeld: boolean): Promise<DropOutcome> {
    try {
      const outcome = await this.#runtime.store.catalog.dropCollection(row.id, evenHeld);
      if (outcome === 'dropped') this.#dropped.set(row.id, true);
      return outcome;
    } finally {
      this.#forget(row);
    }
  }

  async #aliasedError({ id, accountId, name }: CollectionRow): Promise<ProvecError> {
    // Null if the alias was switched a moment ago.
    const held = await this.#runtime.store.aliases.findByCollection(accountId, id);
    const which = held ? `The alias ${held.alias}` : 'An alias';
    return new ProvecError('COLLECTION_HAS_ALIAS', `${which} points to ${name}; delete or switch the alias first.`);
  }

  #forget(row: CollectionRow): void {
    this.#changes += 1;
    this.#rows.delete(cacheKey(row.accountId, row.name));
    for (const [key, { id }] of this.#aliased) if (id === row.id) this.#aliased.delete(key);
  }

  /** Resolves when no operation runs on a dropped collection any more. */
  async idle(id: string): Promise<void> {
    if (!this.#users.has(id)) return;
    await new Promise<void>((resolve) => this.#idle.set(id, resolve));
    this.#idle.delete(id);
  }
}

function cacheKey(accountId: string, name: string): string {
  return `${accountId}/${name}`;
}
