import type * as Api from './api/generated.ts';
import type { AnyMetadata } from './api/metadata.ts';
import { Collection } from './collection.ts';
import { getOrCreate } from './get-or-create.ts';
import type { ClientOptions, RequestOptions } from './http/options.ts';
import { Transport } from './http/transport.ts';
import { Listing } from './listing.ts';

/** An account of a Provec, by one of its API keys. Nothing is asked before the first method. */
export class Provec {
  readonly #transport: Transport;

  /** Throws a TypeError that names an option that is invalid. */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /**
   * The collection of that name or alias. Sends no request, so it need not exist. `M` is the type
   * of its records' metadata, such as an interface.
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
   * ConflictError for one that was made with another value of what `body` gives; tags and deletion
   * protection, which can be changed, are not compared.
   */
  getOrCreate(body: Api.CreateCollection, options: RequestOptions = {}): Promise<Api.Collection> {
    return getOrCreate(
      body,
      () => this.collection(body.name).describe(options),
      () => this.createCollection(body, options),
    );
  }

  /** Deletes a collection with all that it holds; takes no alias. */
  async deleteCollection(name: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('deleteCollection', { path: { name } }, options);
  }

  /** Collections, the newest first. */
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

  /** All of them, however many pages they take. */
  listAliases(options: RequestOptions = {}): Promise<Api.Alias[]> {
    return new Listing<Api.ListAliasesResult, Api.Alias>(
      {},
      (query) => this.#transport.send('listAliases', { query }, options),
      ({ aliases }) => aliases,
    ).all();
  }

  /** Which collection an alias stands for. */
  getAlias(alias: string, options: RequestOptions = {}): Promise<Api.Alias> {
    return this.#transport.send('getAlias', { path: { alias } }, options);
  }

  /** Makes an alias, or switches it to another collection at once. */
  putAlias(alias: string, collection: string, options: RequestOptions = {}): Promise<Api.Alias> {
    return this.#transport.send('putAlias', { path: { alias }, body: { collection } }, options);
  }

  /** Deletes an alias; its collection stays. */
  async deleteAlias(alias: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('deleteAlias', { path: { alias } }, options);
  }

  /** This month's usage and the plan's limits. */
  getUsage(options: RequestOptions = {}): Promise<Api.Usage> {
    return this.#transport.send('getUsage', {}, options);
  }

  /** All of them, however many pages they take. */
  listKeys(options: RequestOptions = {}): Promise<Api.ApiKey[]> {
    return new Listing<Api.ListKeysResult, Api.ApiKey>(
      {},
      (query) => this.#transport.send('listKeys', { query }, options),
      ({ keys }) => keys,
    ).all();
  }

  /** Creates a key; only this answer has its secret. */
  async createKey(body: Api.CreateKey, options: RequestOptions = {}): Promise<Api.NewApiKey> {
    const { key } = await this.#transport.send('createKey', { body }, options);
    return key;
  }

  /** Revokes a key, by its id. */
  async revokeKey(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('revokeKey', { path: { id } }, options);
  }
}
