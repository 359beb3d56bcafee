import type * as Api from './api/generated.ts';
import { Exported } from './exported.ts';
import type { Call, OperationId, RequestOptions, Transport } from './http/transport.ts';
import { type ImportSource, importBody } from './imported.ts';
import { Listing } from './listing.ts';

/** Operations whose path names a collection and nothing else. */
type OfCollection = {
  [K in OperationId]: Api.Operations[K]['path'] extends { name: string } ? K : never;
}[OperationId];

/**
 * A collection, by its name or an alias. Every method is one operation of `/api/v1` and takes its
 * body or parameters; docs/api.md describes them.
 */
export class Collection {
  readonly name: string;
  readonly #transport: Transport;

  constructor(transport: Transport, name: string) {
    this.#transport = transport;
    this.name = name;
  }

  /** What it is, how much it holds, its root and its newest anchor. */
  async describe(options?: RequestOptions): Promise<Api.CollectionDetail> {
    const { collection } = await this.#send('getCollection', {}, options);
    return collection;
  }

  async change(body: Api.ChangeCollection, options?: RequestOptions): Promise<Api.CollectionDetail> {
    const { collection } = await this.#send('updateCollection', { body }, options);
    return collection;
  }

  /** Deletes the collection with all that it holds. */
  async drop(options?: RequestOptions): Promise<void> {
    await this.#send('deleteCollection', {}, options);
  }

  /** Writes up to 1,000 records; one that is there is replaced as a whole. */
  upsert(body: Api.Upsert, options?: RequestOptions): Promise<Api.UpsertResult> {
    return this.#send('upsertVectors', { body }, options);
  }

  /** The records most similar to a vector or to a record. */
  query(body: Api.Query, options?: RequestOptions): Promise<Api.QueryVectorsResult> {
    return this.#send('queryVectors', { body }, options);
  }

  /** Up to 100 queries at once. */
  queryMany(body: Api.Queries, options?: RequestOptions): Promise<Api.QueryManyResult> {
    return this.#send('queryMany', { body }, options);
  }

  /** Records by id; `vectors` lacks those that are not there. */
  fetch(body: Api.Fetch, options?: RequestOptions): Promise<Api.FetchVectorsResult> {
    return this.#send('fetchVectors', { body }, options);
  }

  async count(body: Api.Count = {}, options?: RequestOptions): Promise<number> {
    const { count } = await this.#send('countRecords', { body }, options);
    return count;
  }

  /** How often each value of a metadata field is there. */
  facets(body: Api.Facets, options?: RequestOptions): Promise<Api.FacetRecordsResult> {
    return this.#send('facetRecords', { body }, options);
  }

  /** Records in the order of their ids. */
  list(body: Api.List = {}, options?: RequestOptions): Listing<Api.ListRecordsResult, Api.ListedRecord> {
    return new Listing(
      (cursor = body.cursor) => this.#send('listRecords', { body: { ...body, cursor } }, options),
      ({ records }) => records,
    );
  }

  /** Changes values, and merges into metadata. */
  update(body: Api.Update, options?: RequestOptions): Promise<Api.UpdateResult> {
    return this.#send('updateRecords', { body }, options);
  }

  delete(body: Api.Delete, options?: RequestOptions): Promise<Api.DeleteResult> {
    return this.#send('deleteVectors', { body }, options);
  }

  namespaces(
    query: NonNullable<Api.Operations['listNamespaces']['query']> = {},
    options?: RequestOptions,
  ): Listing<Api.ListNamespacesResult, Api.ListNamespacesResult['namespaces'][number]> {
    return new Listing(
      (cursor = query.cursor) => this.#send('listNamespaces', { query: { ...query, cursor } }, options),
      ({ namespaces }) => namespaces,
    );
  }

  /** Deletes all records of a namespace. */
  deleteNamespace(namespace: string, options: RequestOptions = {}): Promise<Api.DeleteResult> {
    return this.#transport.send('deleteNamespace', { path: { name: this.name, namespace } }, options);
  }

  /**
   * All records in one state, as they stream in. Resolves when the answer begins; a connection that
   * breaks after that is not tried again.
   */
  async export(options: RequestOptions = {}): Promise<Exported> {
    return new Exported(await this.#transport.open('exportRecords', { path: { name: this.name } }, options));
  }

  /**
   * Writes any number of records. Those before one that is refused, or before the connection broke,
   * are stored; an import that is sent again as a whole replaces them with the same.
   */
  async import(source: ImportSource, options: RequestOptions = {}): Promise<Api.ImportRecordsResult> {
    const body = importBody(source);
    try {
      const call = { path: { name: this.name } };
      return await this.#transport.send('importRecords', call, { timeoutMs: 0, ...options }, body);
    } catch (error) {
      throw body.failure() ?? error;
    }
  }

  /** Recomputes the root from what is stored and compares it with the ledger. */
  verify(options?: RequestOptions): Promise<Api.VerifyResult> {
    // With no id in the query it is the verdict on the collection, and never a record's proof.
    return this.#send('verifyCollection', { query: {} }, options) as Promise<Api.VerifyResult>;
  }

  /** Begins the same in the background, for a collection that takes long. */
  beginVerification(options?: RequestOptions): Promise<Api.Verification> {
    return this.#send('beginVerification', {}, options);
  }

  verification(id: string, options: RequestOptions = {}): Promise<Api.Verification> {
    return this.#transport.send('getVerification', { path: { name: this.name, id } }, options);
  }

  /** A proof that a record is there or is not, for `verifyProof` or `verifyOnLedger`. */
  async proof(
    query: Api.Operations['proveRecord']['query'],
    options?: RequestOptions,
  ): Promise<Api.ProveRecordResult['proof']> {
    const { proof } = await this.#send('proveRecord', { query }, options);
    return proof;
  }

  /** Roots on the ledger, the newest first. */
  anchors(
    query: NonNullable<Api.Operations['listAnchors']['query']> = {},
    options?: RequestOptions,
  ): Listing<Api.ListAnchorsResult, Api.Anchor> {
    return new Listing(
      (cursor = query.cursor) => this.#send('listAnchors', { query: { ...query, cursor } }, options),
      ({ anchors }) => anchors,
    );
  }

  #send<K extends OfCollection>(
    operation: K,
    call: Omit<Call<K>, 'path'>,
    options: RequestOptions = {},
  ): Promise<Api.Operations[K]['result']> {
    return this.#transport.send(operation, { path: { name: this.name }, ...call } as unknown as Call<K>, options);
  }
}
