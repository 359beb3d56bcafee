/**
 * Reads a collection of a Chroma server over its HTTP API v2. Chroma returns records in the order
 * in which they were added; a position is a number of records.
 */
import { InputError } from '../../client/cli/json-file.ts';
import { HttpSource, listIn, objectIn } from './http-source.ts';
import type { Issue } from './issues.ts';
import type { Metric, PageBegin, Source, SourceDescription, SourcePage, SourceRecord } from './port.ts';
import { SourceError } from './source-error.ts';

const DEFAULT_URL = 'http://127.0.0.1:8000';
const INCLUDE = ['embeddings', 'metadatas', 'documents', 'uris'];
/** Chroma's `l2` is the squared distance, which has the same order. */
const METRICS: Readonly<Record<string, Metric>> = { cosine: 'cosine', l2: 'euclidean', ip: 'dot' };
const SPARSE_TYPE = 'sparse_vector';
const ID = /^[0-9a-f-]{36}$/;

export interface ChromaOptions {
  from?: string;
  /** Name of the collection there. */
  source: string;
  tenant: string;
  database: string;
  /** Metadata field for documents. */
  documentField: string;
  /** Metadata field for URIs. */
  uriField: string;
}

interface Answer {
  ids: unknown[];
  embeddings: unknown;
  metadatas: unknown;
  documents: unknown;
  uris: unknown;
}

export function openChroma(options: ChromaOptions): Source {
  const { CHROMA_API_KEY: key = '' } = process.env;
  return new Chroma(new HttpSource(options.from ?? DEFAULT_URL, key === '' ? {} : { 'x-chroma-token': key }), options);
}

class Chroma implements Source {
  readonly #http: HttpSource;
  readonly #options: ChromaOptions;
  readonly #database: string;
  #collectionPath: string | undefined;

  constructor(http: HttpSource, options: ChromaOptions) {
    this.#http = http;
    this.#options = options;
    const { tenant, database } = options;
    this.#database = `/api/v2/tenants/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}`;
  }

  async describe(): Promise<SourceDescription> {
    const { source, tenant, database, documentField, uriField } = this.#options;
    const collection = await this.#collection();
    const count = await this.#http.get(`${this.#path(collection)}/count`);
    if (typeof count !== 'number') throw new SourceError('Chroma did not answer with a count.');
    const space = spaceOf(collection);
    return {
      identity: {
        kind: 'chroma',
        address: this.#http.address,
        tenant,
        database,
        collection: source,
        id: `${collection.id}`,
      },
      count,
      dimensions: typeof collection.dimension === 'number' ? collection.dimension : null,
      metric: { there: space, here: METRICS[space] ?? 'cosine' },
      mapping: [
        { there: 'embeddings', here: 'values, as float32' },
        { there: 'metadatas', here: 'metadata' },
        { there: 'documents', here: `metadata field "${documentField}"` },
        { there: 'uris', here: `metadata field "${uriField}"` },
      ],
    };
  }

  async *pages({ position, pageRecords }: PageBegin): AsyncGenerator<SourcePage, void, undefined> {
    this.#collectionPath ??= this.#path(await this.#collection());
    for (let offset = Number(position ?? 0); ; ) {
      const body = { limit: pageRecords, offset, include: INCLUDE };
      const answer = objectIn(await this.#http.post(`${this.#collectionPath}/get`, body), 'records');
      const records = this.#recordsIn({ ...answer, ids: listIn(answer.ids, 'ids') } as Answer);
      if (records.length === 0) return;
      offset += records.length;
      yield { records, next: `${offset}` };
    }
  }

  async close(): Promise<void> {}

  async #collection(): Promise<Record<string, unknown>> {
    const { source, tenant, database } = this.#options;
    try {
      const path = `${this.#database}/collections/${encodeURIComponent(source)}`;
      return objectIn(await this.#http.get(path), 'collection');
    } catch (error) {
      if (!(error instanceof SourceError) || error.status !== 404) throw error;
      throw new InputError(
        `${this.#http.address} has no collection ${source} in the database ${database} of the tenant ${tenant}.`,
      );
    }
  }

  #path({ id }: Record<string, unknown>): string {
    if (typeof id !== 'string' || !ID.test(id)) throw new SourceError('The collection has no id.');
    return `${this.#database}/collections/${id}`;
  }

  #recordsIn({ ids, embeddings, metadatas, documents, uris }: Answer): SourceRecord[] {
    const part = (list: unknown, at: number): unknown => (Array.isArray(list) ? (list[at] ?? null) : null);
    return ids.map((id, at) => {
      const { metadata, issues } = withoutSparse(objectIn(part(metadatas, at) ?? {}, 'metadata'));
      const fields: Record<string, unknown> = {};
      const document = part(documents, at);
      const uri = part(uris, at);
      if (document !== null) fields[this.#options.documentField] = document;
      if (uri !== null) fields[this.#options.uriField] = uri;
      return { id: String(id), values: part(embeddings, at) as number[] | null, metadata, fields, issues };
    });
  }
}

/**
 * Returns the name of the distance, which Chroma keeps in one of three places, depending on its
 * version.
 */
function spaceOf({ configuration_json: configuration, metadata }: Record<string, unknown>): string {
  const { hnsw, spann } = (configuration ?? {}) as Record<string, { space?: unknown } | null | undefined>;
  const { 'hnsw:space': older } = (metadata ?? {}) as Record<string, unknown>;
  const found = [hnsw?.space, spann?.space, older].find((space) => typeof space === 'string');
  return typeof found === 'string' ? found : 'l2';
}

/** Removes Chroma's sparse vectors, which are metadata fields. */
function withoutSparse(metadata: Record<string, unknown>): { metadata: Record<string, unknown>; issues: Issue[] } {
  const isSparse = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && (value as { '#type'?: unknown })['#type'] === SPARSE_TYPE;
  const entries = Object.entries(metadata);
  const kept = entries.filter(([, value]) => !isSparse(value));
  if (kept.length === entries.length) return { metadata, issues: [] };
  return { metadata: Object.fromEntries(kept), issues: ['sparse-vector'] };
}
