import { Agent } from 'node:http';
import { type Dataset, recordsOf } from '../dataset.ts';
import { sendRequest } from '../http-request.ts';
import type { BenchedDatabase, Condition, ListPosition } from './peer.ts';

const DATABASE = '/api/v2/tenants/default_tenant/databases/default_database';
const BATCH = 1_000;

type Sent = { id: string; values: number[]; metadata: Record<string, unknown> };

/** Chroma accepts no empty lists in metadata. */
const metadataOf = ({ metadata }: Sent): object =>
  Object.fromEntries(Object.entries(metadata).filter(([, value]) => !Array.isArray(value) || value.length > 0));

function whereOf(conditions: Condition[]): object {
  const parts = conditions.flatMap(({ field, equals, within }): object[] =>
    equals === undefined
      ? [{ [field]: { $gte: within![0] } }, { [field]: { $lt: within![1] } }]
      : [{ [field]: { $eq: equals } }],
  );
  return parts.length === 1 ? parts[0]! : { $and: parts };
}

/**
 * A running Chroma server (`chroma run`), over HTTP. It can only count whole collections, has no
 * facets, and changes records by id only.
 */
export class Chroma implements BenchedDatabase {
  readonly name = 'chroma';
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #collection = '';

  constructor(url: string) {
    this.#url = url;
  }

  async version(): Promise<string> {
    return String(await this.#ask('GET', '/api/v2/version'));
  }

  async import(data: Dataset): Promise<void> {
    const configuration = { hnsw: { space: 'cosine' } };
    const body = { name: `records-${Date.now()}`, configuration };
    const { id } = (await this.#ask('POST', `${DATABASE}/collections`, body)) as { id: string };
    this.#collection = `${DATABASE}/collections/${id}`;
    for (let from = 0; from < data.ids.length; from += BATCH) await this.#upsert(recordsOf(data, from, from + BATCH));
  }

  /** Chroma indexes while it stores. */
  async indexed(): Promise<void> {}

  /** Reads page by page: Chroma has no export. */
  async export(): Promise<number> {
    for (let offset = 0; ; offset += BATCH) {
      const ids = await this.#page(offset, BATCH, ['embeddings', 'metadatas']);
      if (ids.length < BATCH) return offset + ids.length;
    }
  }

  list({ offset }: ListPosition, limit: number): Promise<string[]> {
    return this.#page(offset, limit, ['metadatas']);
  }

  async updateIds(ids: string[], field: string, value: number): Promise<void> {
    const metadatas = ids.map(() => ({ [field]: value }));
    await this.#ask('POST', `${this.#collection}/update`, { ids, metadatas });
  }

  async deleteWhere(conditions: Condition[]): Promise<number | null> {
    await this.#ask('POST', `${this.#collection}/delete`, { where: whereOf(conditions) });
    return null;
  }

  upsert(data: Dataset, rows: number[]): Promise<void> {
    return this.#upsert(rows.flatMap((row) => recordsOf(data, row, row + 1)));
  }

  async queries(vectors: Float32Array[], topK: number): Promise<string[][]> {
    const query_embeddings = vectors.map((vector) => Array.from(vector));
    const body = { query_embeddings, n_results: topK, include: ['metadatas', 'distances'] };
    return ((await this.#ask('POST', `${this.#collection}/query`, body)) as { ids: string[][] }).ids;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  async #page(offset: number, limit: number, include: string[]): Promise<string[]> {
    const found = await this.#ask('POST', `${this.#collection}/get`, { offset, limit, include });
    return (found as { ids: string[] }).ids;
  }

  async #upsert(records: object[]): Promise<void> {
    const sent = records as Sent[];
    const body = {
      ids: sent.map(({ id }) => id),
      embeddings: sent.map(({ values }) => values),
      metadatas: sent.map(metadataOf),
    };
    await this.#ask('POST', `${this.#collection}/upsert`, body);
  }

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const sent = body && JSON.stringify(body);
    const { status, text } = await sendRequest(method, `${this.#url}${path}`, this.#agent, sent);
    if (status >= 300) throw new Error(`${path}: ${status} ${text.slice(0, 300)}`);
    return text === '' ? null : JSON.parse(text);
  }
}
