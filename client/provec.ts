import type * as Api from './api/generated.ts';
import type { AnyMetadata } from './api/metadata.ts';
import { Collection } from './collection.ts';
import { getOrCreate } from './get-or-create.ts';
import type { ClientOptions, RequestOptions } from './http/options.ts';
import { Transport } from './http/transport.ts';
import { Listing } from './listing.ts';

/** Client for one account, identified by an API key. The constructor sends no request. */
export class Provec {
  readonly #transport: Transport;

  /** Throws a TypeError that names the invalid option. */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /**
   * Returns the collection of that name or alias. Sends no request, so the collection need not
   * exist. `M` is the type of its records' metadata.
   */
  collection<M extends object = AnyMetadata>(name: string): Collection<M> {
    return new Collection(this.#transport, name);
  }

  /** Creates a collection. */
  async createCollection(body: Api.CreateCollection, options: RequestOptions = {}): Promise<Api.Collection> {
    const { collection } = await this.#transport.send('createCollection', { body }, options);
    return collection;
  }

  /**
   * Returns the collection of that name, and creates it if it does not exist. Rejects with a
   * ConflictError if it exists with other values than `body` has. Tags and deletion protection are
   * not compared, since they can change.
   */
  getOrCreate(body: Api.CreateCollection, options: RequestOptions = {}): Promise<Api.Collection> {
    return getOrCreate(
      body,
      () => this.collection(body.name).describe(options),
      () => this.createCollection(body, options),
    );
  }

  /** Deletes a collection and all its records. The name must not be an alias. */
  async deleteCollection(name: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('deleteCollection', { path: { name } }, options);
  }

  /** Lists the collections, newest first. */
  listCollections(
    query: Api.ListCollectionsParams = {},
    options: RequestOptions = {},
  ): Listing<Api.ListCollectionsResult, Api.Collection> {
    return new Listing(
      query,
      (page) => this.#transport.send('listCollections', { query: page }, options),
      ({ collections }) => collections,
    );
  }

  /** Lists the aliases. */
  listAliases(
    query: Api.ListAliasesParams = {},
    options: RequestOptions = {},
  ): Listing<Api.ListAliasesResult, Api.Alias> {
    return new Listing(
      query,
      (page) => this.#transport.send('listAliases', { query: page }, options),
      ({ aliases }) => aliases,
    );
  }

  /** Returns an alias with the collection that it points to. */
  getAlias(alias: string, options: RequestOptions = {}): Promise<Api.Alias> {
    return this.#transport.send('getAlias', { path: { alias } }, options);
  }

  /** Creates an alias, or atomically switches it to another collection. */
  putAlias(alias: string, collection: string, options: RequestOptions = {}): Promise<Api.Alias> {
    return this.#transport.send('putAlias', { path: { alias }, body: { collection } }, options);
  }

  /** Deletes an alias, but not its collection. */
  async deleteAlias(alias: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('deleteAlias', { path: { alias } }, options);
  }

  /** Returns this month's usage and the plan's limits. */
  getUsage(options: RequestOptions = {}): Promise<Api.Usage> {
    return this.#transport.send('getUsage', {}, options);
  }

  /** Returns the usage of each of the last days, oldest first. */
  async getDailyUsage(query: Api.GetDailyUsageParams = {}, options: RequestOptions = {}): Promise<Api.UsageDay[]> {
    const { days } = await this.#transport.send('getDailyUsage', { query }, options);
    return days;
  }

  /** Lists the keys without their secrets. */
  listKeys(query: Api.ListKeysParams = {}, options: RequestOptions = {}): Listing<Api.ListKeysResult, Api.ApiKey> {
    return new Listing(
      query,
      (page) => this.#transport.send('listKeys', { query: page }, options),
      ({ keys }) => keys,
    );
  }

  /** Creates a key. Only this answer has its secret. */
  async createKey(body: Api.CreateKey, options: RequestOptions = {}): Promise<Api.NewApiKey> {
    const { key } = await this.#transport.send('createKey', { body }, options);
    return key;
  }

  /** Lists the changes made with the account's keys, oldest first. */
  listAuditEntries(
    query: Api.ListAuditEntriesParams = {},
    options: RequestOptions = {},
  ): Listing<Api.AuditEntries, Api.AuditEntry> {
    return new Listing(
      query,
      (page) => this.#transport.send('listAuditEntries', { query: page }, options),
      ({ entries }) => entries,
    );
  }

  /**
   * Returns what an audit link shows, with a page of the history. The link may be of any account.
   */
  getAudit(token: string, query: Api.GetAuditParams = {}, options: RequestOptions = {}): Promise<Api.AuditView> {
    return this.#transport.send('getAudit', { path: { token }, query }, options);
  }

  /** Revokes the key with this id. */
  async revokeKey(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('revokeKey', { path: { id } }, options);
  }
}
