import type * as Api from './api/generated.ts';
import type { AnyMetadata, WithMetadata } from './api/metadata.ts';
import { Exported, type ExportedRecord } from './export-stream.ts';
import type { RequestOptions } from './http/options.ts';
import type { CallArguments, OperationId, Transport } from './http/transport.ts';
import { type ImportSource, importBody, NDJSON_TYPE } from './import-body.ts';
import { Listing } from './listing.ts';
import { upsertInParts } from './split-upsert.ts';

/** Operations whose path has a collection's name. */
type CollectionOperation = {
  [K in OperationId]: Api.Operations[K] extends { path: { name: string } } ? K : never;
}[OperationId];

/**
 * A collection, addressed by its name or an alias. Each method performs one operation of `/api/v1`
 * (docs/api.md). It takes the operation's body or parameters. If the answer has a single field, the
 * method returns that field. `M` is the type of the records' metadata. The service does not check
 * it.
 */
export class Collection<M extends object = AnyMetadata> {
  readonly name: string;
  readonly #transport: Transport;

  constructor(transport: Transport, name: string) {
    this.#transport = transport;
    this.name = name;
  }

  /** Returns the collection's settings, size, root and newest anchor. */
  async describe(options?: RequestOptions): Promise<Api.CollectionDetail> {
    const { collection } = await this.#send('getCollection', {}, options);
    return collection;
  }

  /** Returns how much memory and disk each shard takes. Opens no shard. */
  memory(options?: RequestOptions): Promise<Api.GetMemoryResult> {
    return this.#send('getMemory', {}, options);
  }

  /** Changes deletion protection or tags. */
  async configure(body: Api.ChangeCollection, options?: RequestOptions): Promise<Api.CollectionDetail> {
    const { collection } = await this.#send('updateCollection', { body }, options);
    return collection;
  }

  /**
   * Writes records. A record that exists is replaced as a whole. More than 1,000 records, or more
   * than 48 MiB, are sent in several requests, one after another. If a request fails, the earlier
   * ones are stored, and the error's `storedCount` is the number of their records. An abort rejects
   * with the signal's reason, which has no `storedCount`.
   */
  upsert(body: WithMetadata<Api.Upsert, M>, options: RequestOptions = {}): Promise<Api.UpsertResult> {
    return upsertInParts(body as Api.Upsert, (part, placed) =>
      this.#send('upsertVectors', { body: part }, this.#transport.withChangedWarnings(options, placed)),
    );
  }

  /** Finds the records most similar to a vector or to a record. */
  async query(body: Api.Query, options?: RequestOptions): Promise<WithMetadata<Api.QueryVectorsResult, M>> {
    const result = await this.#send('queryVectors', { body }, options);
    return result as WithMetadata<Api.QueryVectorsResult, M>;
  }

  /** Runs up to 100 queries in one request; the results have the order of the queries. */
  async queryMany(
    body: Api.Queries,
    options?: RequestOptions,
  ): Promise<WithMetadata<Api.QueryManyResult['results'], M>> {
    const { results } = await this.#send('queryMany', { body }, options);
    return results as WithMetadata<Api.QueryManyResult['results'], M>;
  }

  /** Returns records by id; ids without a record are left out. */
  async fetch(body: Api.Fetch, options?: RequestOptions): Promise<Record<string, WithMetadata<Api.StoredRecord, M>>> {
    const { vectors } = await this.#send('fetchVectors', { body }, options);
    return vectors as Record<string, WithMetadata<Api.StoredRecord, M>>;
  }

  /**
   * Counts the records that match the filter; without a filter, all records of the namespace.
   * `onWarning` gets the warnings, for example about a field that no record has.
   */
  async count(body: Api.Count = {}, options?: RequestOptions): Promise<number> {
    const { count } = await this.#send('countRecords', { body }, options);
    return count;
  }

  /** Counts the records for each value of a metadata field. */
  facets(body: Api.Facets, options?: RequestOptions): Promise<Api.FacetRecordsResult> {
    return this.#send('facetRecords', { body }, options);
  }

  /** Lists records in the order of their ids. */
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

  /** Replaces vectors and changes keys of the metadata of existing records. */
  update(body: WithMetadata<Api.Update, M>, options?: RequestOptions): Promise<Api.UpdateResult> {
    return this.#send('updateRecords', { body: body as Api.Update }, options);
  }

  /** Deletes records by id, by filter, or all records of the namespace. */
  delete(body: Api.Delete, options?: RequestOptions): Promise<Api.DeleteResult> {
    return this.#send('deleteVectors', { body }, options);
  }

  /** Lists the namespaces that hold records, in the order of their names. */
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
   * Streams all records, as of one state of the collection. Resolves when the answer begins; after
   * that, a broken connection is not retried.
   */
  async export(options: RequestOptions = {}): Promise<Exported<WithMetadata<ExportedRecord, M>>> {
    const call = { path: { name: this.name } };
    return new Exported(await this.#transport.open('exportRecords', call, NDJSON_TYPE, options));
  }

  /**
   * Writes any number of records. If a record is refused or the connection breaks, the records
   * before that point are stored. Importing everything again replaces them with the same records.
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

  /** Recomputes the root from the stored records and compares it with the ledger. */
  verify(options?: RequestOptions): Promise<Api.VerifyResult> {
    // Without an id in the query, the answer is about the collection, never a record's proof.
    return this.#send('verifyCollection', { query: {} }, options) as Promise<Api.VerifyResult>;
  }

  /** Starts a verification in the background, for a collection that takes minutes. */
  startVerification(options?: RequestOptions): Promise<Api.Verification> {
    return this.#send('beginVerification', {}, options);
  }

  /** Returns the progress of a verification, and its verdict once it is done. */
  getVerification(id: string, options: RequestOptions = {}): Promise<Api.Verification> {
    return this.#transport.send('getVerification', { path: { name: this.name, id } }, options);
  }

  /** Returns a proof that a record is present or absent, for `verifyProof` or `verifyOnLedger`. */
  async proof(query: Api.ProveRecordParams, options?: RequestOptions): Promise<Api.ProveRecordResult['proof']> {
    const { proof } = await this.#send('proveRecord', { query }, options);
    return proof;
  }

  /** Lists the roots on the ledger, newest first. */
  listAnchors(query: Api.ListAnchorsParams = {}, options?: RequestOptions): Listing<Api.ListAnchorsResult, Api.Anchor> {
    return new Listing(
      query,
      (page) => this.#send('listAnchors', { query: page }, options),
      ({ anchors }) => anchors,
    );
  }

  /** Creates a link that shows the roots to anyone who has it. Only this answer has its token. */
  async createAuditLink(body: Api.CreateAuditLink = {}, options?: RequestOptions): Promise<Api.NewAuditLink> {
    const { link } = await this.#send('createAuditLink', { body }, options);
    return link;
  }

  /** Lists the audit links, newest first, without their tokens. */
  async listAuditLinks(options?: RequestOptions): Promise<Api.AuditLink[]> {
    const { links } = await this.#send('listAuditLinks', {}, options);
    return links;
  }

  /** Revokes the audit link with this id. */
  async revokeAuditLink(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.send('revokeAuditLink', { path: { name: this.name, id } }, options);
  }

  #send<K extends CollectionOperation>(
    operation: K,
    call: Omit<CallArguments<K>, 'path'>,
    options: RequestOptions = {},
  ): Promise<Api.Operations[K]['result']> {
    return this.#transport.send(
      operation,
      { path: { name: this.name }, ...call } as unknown as CallArguments<K>,
      options,
    );
  }
}
