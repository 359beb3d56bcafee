/**
 * Reads a Pinecone index: lists the ids of a namespace, and fetches their records. A position
 * is a namespace and the token of the next list; a token leads to the same list again.
 */
import { HttpSource, listIn, objectIn } from './http-source.ts';
import type { Issue } from './issues.ts';
import type { Metric, PageBegin, Source, SourceDescription, SourcePage, SourceRecord } from './port.ts';

const METRICS: Readonly<Record<string, Metric>> = { cosine: 'cosine', dotproduct: 'dot', euclidean: 'euclidean' };
const API_VERSION = '2025-04';
/** Number of ids per page of Pinecone's list. */
const LIST_MAX = 100;
/** Maximum number of characters of ids in one URL. */
const QUERY_CHARS = 6_000;
/** Pinecone's name for the default namespace. */
const DEFAULT_NAMESPACE = '__default__';

interface Place {
  namespace: string;
  token: string | null;
}

interface Stats {
  dimension: unknown;
  metric: unknown;
  total: number | null;
  /** In their order. */
  namespaces: string[];
}

/** `from`: address of the index, as Pinecone's console shows it. */
export function openPinecone({ from }: { from: string }): Source {
  const { PINECONE_API_KEY: key = '' } = process.env;
  return new Pinecone(new HttpSource(from, { 'api-key': key, 'x-pinecone-api-version': API_VERSION }));
}

class Pinecone implements Source {
  readonly #http: HttpSource;

  constructor(http: HttpSource) {
    this.#http = http;
  }

  async describe(): Promise<SourceDescription> {
    const { dimension, metric, total, namespaces } = await this.#stats();
    const there = String(metric);
    return {
      identity: { kind: 'pinecone', address: this.#http.address },
      count: total,
      dimensions: typeof dimension === 'number' ? dimension : null,
      metric: METRICS[there] === undefined ? null : { there, here: METRICS[there] },
      mapping: [
        { there: 'id', here: 'id' },
        { there: 'values', here: 'values, as float32' },
        { there: 'metadata', here: 'metadata' },
        { there: `namespaces (${namespaces.length})`, here: 'namespaces of the same names' },
      ],
    };
  }

  async *pages({ position, pageRecords }: PageBegin): AsyncGenerator<SourcePage, void, undefined> {
    const { namespaces } = await this.#stats();
    const begin = position === null ? null : (JSON.parse(position) as Place);
    for (const namespace of namespaces.filter((name) => begin === null || name >= begin.namespace)) {
      let token = namespace === begin?.namespace ? begin.token : '';
      while (token !== null) {
        const { ids, next } = await this.#listed(namespace, token, Math.min(pageRecords, LIST_MAX));
        const records = await this.#fetched(namespace, ids);
        token = next;
        if (ids.length > 0) yield { records, next: JSON.stringify({ namespace, token }) };
      }
    }
  }

  async close(): Promise<void> {}

  async #stats(): Promise<Stats> {
    const stats = objectIn(await this.#http.post('/describe_index_stats', {}), 'statistics');
    const { dimension, metric, totalVectorCount: total, namespaces } = stats;
    const names = Object.keys(objectIn(namespaces ?? {}, 'namespaces')).map((name) =>
      name === DEFAULT_NAMESPACE ? '' : name,
    );
    return { dimension, metric, total: typeof total === 'number' ? total : null, namespaces: names.sort() };
  }

  async #listed(namespace: string, token: string, limit: number): Promise<{ ids: string[]; next: string | null }> {
    const query = new URLSearchParams({
      namespace,
      limit: `${limit}`,
      ...(token !== '' && { paginationToken: token }),
    });
    const { vectors, pagination } = objectIn(await this.#http.get(`/vectors/list?${query}`), 'list');
    const ids = listIn(vectors ?? [], 'ids').map((each) => String(objectIn(each, 'id').id));
    const { next } = (pagination ?? {}) as { next?: unknown };
    return { ids, next: typeof next === 'string' && next !== '' ? next : null };
  }

  /** Returns the records in the order of `ids`, without any that were deleted in the meantime. */
  async #fetched(namespace: string, ids: readonly string[]): Promise<SourceRecord[]> {
    const records: SourceRecord[] = [];
    for (const part of partsOf(ids)) {
      const query = new URLSearchParams([['namespace', namespace], ...part.map((id): [string, string] => ['ids', id])]);
      const { vectors } = objectIn(await this.#http.get(`/vectors/fetch?${query}`), 'records');
      const found = new Map(Object.entries(objectIn(vectors ?? {}, 'records')));
      for (const id of part)
        if (found.has(id)) records.push(recordOf(id, objectIn(found.get(id), 'record'), namespace));
    }
    return records;
  }
}

/** Splits ids into parts that fit into a URL. */
function partsOf(ids: readonly string[]): string[][] {
  const parts: string[][] = [];
  let chars = QUERY_CHARS;
  for (const id of ids) {
    const length = encodeURIComponent(id).length + 5;
    if (chars + length > QUERY_CHARS) {
      parts.push([]);
      chars = 0;
    }
    parts.at(-1)!.push(id);
    chars += length;
  }
  return parts;
}

function recordOf(
  id: string,
  { values, sparseValues, metadata }: Record<string, unknown>,
  namespace: string,
): SourceRecord {
  const { indices } = (sparseValues ?? {}) as { indices?: unknown };
  const issues: Issue[] = Array.isArray(indices) && indices.length > 0 ? ['sparse-vector'] : [];
  const isDense = Array.isArray(values) && values.length > 0;
  const own = { id, ...(namespace !== '' && { namespace }), metadata: objectIn(metadata ?? {}, 'metadata'), issues };
  return { ...own, values: isDense ? (values as number[]) : null };
}
