import type * as Api from './api/generated.ts';
import type { AnyMetadata, WithMetadata } from './api/metadata.ts';
import { Exported, type ExportedRecord } from './exported.ts';
import type { RequestOptions } from './http/options.ts';
import type { Call, OperationId, Transport } from './http/transport.ts';
import { type ImportSource, importBody } from './imported.ts';
import { Listing } from './listing.ts';
import { upsertInParts } from './split-upsert.ts';

/** Operations whose path names a collection and nothing else. */
type OfCollection = {
  [K in OperationId]: Api.Operations[K]['path'] extends { name: string } ? K : never;
}[OperationId];

/**
 * A collection, by its name or an alias. Every method is one operation of `/api/v1`, which
 * docs/api.md describes: it takes the body or the parameters, and where the answer has a single
 * field, gives that. `M` is the type of its records' metadata, which the service does not check.
 */
export class Collection<M extends object = AnyMetadata> {
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

  /** Changes deletion protection or tags. */
  async configure(body: Api.ChangeCollection, options?: RequestOptions): Promise<Api.CollectionDetail> {
    const { collection } = await this.#send('updateCollection', { body }, options);
    return collection;
  }

  /**
   * Writes records; one that is there is replaced as a whole. More than 1,000, or more than 48 MiB,
   * go out in several requests, one after another. If one fails, the records before it are stored,
   * and the error says how many (`storedCount`). The reason of an abort does not say it.
   */
  upsert(body: WithMetadata<Api.Upsert, M>, options: RequestOptions = {}): Promise<Api.UpsertResult> {
    return upsertInParts(body as Api.Upsert, (part, placed) =>
      this.#send('upsertVectors', { body: part }, this.#transport.changingWarnings(options, placed)),
    );
  }

  /** The records most similar to a vector or to a record. */
  async query(body: Api.Query, options?: RequestOptions): Promise<WithMetadata<Api.QueryVectorsResult, M>> {
    const result = await this.#send('queryVectors', { body }, options);
    return result as WithMetadata<Api.QueryVectorsResult, M>;
  }

  /** The results of up to 100 queries at once, in their order. */
  async queryMany(
    body: Api.Queries,
    options?: RequestOptions,
  ): Promise<WithMetadata<Api.QueryManyResult['results'], M>> {
    const { results } = await this.#send('queryMany', { body }, options);
    return results as WithMetadata<Api.QueryManyResult['results'], M>;
  }

  /** Records by id, without those that are not there. */
  async fetch(body: Api.Fetch, options?: RequestOptions): Promise<Record<string, WithMetadata<Api.StoredRecord, M>>> {
    const { vectors } = await this.#send('fetchVectors', { body }, options);
    return vectors as Record<string, WithMetadata<Api.StoredRecord, M>>;
  }

  /**
   * Number of records that match; without a filter all of the namespace. `onWarning` gets the
   * warnings, such as one of a field that no record has.
   */
  async count(body: Api.Count = {}, options?: RequestOptions): Promise<number> {
    const { count } = await this.#send('countRecords', { body }, options);
    return count;
  }

  /** How often each value of a metadata field is there. */
  facets(body: Api.Facets, options?: RequestOptions): Promise<Api.FacetRecordsResult> {
    return this.#send('facetRecords', { body }, options);
  }

  /** Records in the order of their ids. */
  list(
    body: Api.List = {},
    options?: RequestOptions,
  ): Listing<WithMetadata<Api.ListRecordsResult, M>, WithMetadata<Api.ListedRecord, M>> {
    const listing = new Listing<Api.ListRecordsResult, Api.ListedRecord>(
      body,
      (page) => this.#send('listRecords', { body: page }, options),
      ({ records }) => records,
    );
    return listing as unknown as Listing<WithMetadata<Api.ListRecordsResult, M>, WithMetadata<Api.ListedRecord, M>>;
  }

  /** Changes values, and merges into metadata. */
  update(body: WithMetadata<Api.Update, M>, options?: RequestOptions): Promise<Api.UpdateResult> {
    return this.#send('updateRecords', { body: body as Api.Update }, options);
  }

  /** Deletes records by id, all that match a filter, or all of the namespace. */
  delete(body: Api.Delete, options?: RequestOptions): Promise<Api.DeleteResult> {
    return this.#send('deleteVectors', { body }, options);
  }

  /** Namespaces that hold records, by name. */
  listNamespaces(
    query: Api.ListNamespacesParams = {},
    options?: RequestOptions,
  ): Listing<Api.ListNamespacesResult, Api.ListNamespacesResult['namespaces'][number]> {
    return new Listing(
      query,
      (page) => this.#send('listNamespaces', { query: page }, options),
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
  async export(options: RequestOptions = {}): Promise<Exported<WithMetadata<ExportedRecord, M>>> {
    return new Exported(await this.#transport.open('exportRecords', { path: { name: this.name } }, options));
  }

  /**
   * Writes any number of records. Those before one that is refused, or before the connection broke,
   * are stored; sent again as a whole, an import replaces them with the same.
   */
  async import(source: ImportSource<M>, options: RequestOptions = {}): Promise<Api.ImportRecordsResult> {
    const body = importBody(source);
    try {
      return await this.#transport.send('importRecords', { path: { name: this.name } }, options, body);
    } catch (error) {
      throw body.failure() ?? error;
    } finally {
      body.end();
    }
  }

  /** Recomputes the root from what is stored and compares it with the ledger. */
  verify(options?: RequestOptions): Promise<Api.VerifyResult> {
    // With no id in the query it is the verdict on the collection, and never a record's proof.
    return this.#send('verifyCollection', { query: {} }, options) as Promise<Api.VerifyResult>;
  }

  /** Starts the same in the background, for a collection that takes minutes. */
  startVerification(options?: RequestOptions): Promise<Api.Verification> {
    return this.#send('beginVerification', {}, options);
  }

  /** How far a verification is, and its verdict. */
  getVerification(id: string, options: RequestOptions = {}): Promise<Api.Verification> {
    return this.#transport.send('getVerification', { path: { name: this.name, id } }, options);
  }

  /** A proof that a record is there or is not, for `verifyProof` or `verifyOnLedger`. */
  async proof(query: Api.ProveRecordParams, options?: RequestOptions): Promise<Api.ProveRecordResult['proof']> {
    const { proof } = await this.#send('proveRecord', { query }, options);
    return proof;
  }

  /** Roots on the ledger, the newest first. */
  listAnchors(query: Api.ListAnchorsParams = {}, options?: RequestOptions): Listing<Api.ListAnchorsResult, Api.Anchor> {
    return new Listing(
      query,
      (page) => this.#send('listAnchors', { query: page }, options),
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
