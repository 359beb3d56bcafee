/** Reads a Qdrant collection by scrolling. A position is the id of the next point. */
import { HttpSource, listIn, objectIn } from './http-source.ts';
import type { Issue } from './issues.ts';
import { NamedVector } from './named-vector.ts';
import type { Metric, PageBegin, Source, SourceDescription, SourcePage, SourceRecord } from './port.ts';
import { SourceError } from './source-error.ts';

const METRICS: Readonly<Record<string, Metric>> = { Cosine: 'cosine', Dot: 'dot', Euclid: 'euclidean' };
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };

export interface QdrantOptions {
  from: string;
  /** Name of the collection there. */
  source: string;
  /** Name of the vector to move, if the collection has several. */
  vectorField?: string;
}

export function openQdrant(options: QdrantOptions): Source {
  const { QDRANT_API_KEY: key = '' } = process.env;
  return new Qdrant(new HttpSource(options.from, key === '' ? {} : { 'api-key': key }), options);
}

class Qdrant implements Source {
  readonly #http: HttpSource;
  readonly #options: QdrantOptions;
  readonly #path: string;
  #vector: NamedVector | undefined;

  constructor(http: HttpSource, options: QdrantOptions) {
    this.#http = http;
    this.#options = options;
    this.#path = `/collections/${encodeURIComponent(options.source)}`;
  }

  async describe(): Promise<SourceDescription> {
    const { name, settings } = await this.#named();
    const { count } = resultIn(await this.#http.post(`${this.#path}/points/count`, { exact: true }));
    const { size, distance } = settings;
    const there = String(distance);
    return {
      identity: { kind: 'qdrant', address: this.#http.address, collection: this.#options.source, vector: name },
      count: typeof count === 'number' ? count : null,
      dimensions: typeof size === 'number' ? size : null,
      metric: { there, here: METRICS[there] ?? null },
      mapping: [
        { there: 'id', here: 'id, numbers as decimal text' },
        { there: name === '' ? 'vector' : `vector "${name}"`, here: 'values, as float32' },
        { there: 'payload', here: 'metadata' },
      ],
    };
  }

  async *pages({ position, pageRecords }: PageBegin): AsyncGenerator<SourcePage, void, undefined> {
    const vector = await this.#named();
    for (let offset = position; ; ) {
      const body = {
        limit: pageRecords,
        with_payload: true,
        with_vector: true,
        ...(offset !== null && { offset: rawJSON(offset) }),
      };
      const page = resultIn(await this.#http.post(`${this.#path}/points/scroll`, body));
      const records = listIn(page.points, 'points').map((point) => recordOf(objectIn(point, 'point'), vector));
      const { next_page_offset: next = null } = page;
      // Without a next page, the position must not lead to the beginning again.
      if (records.length > 0) yield { records, next: next === null ? END : idText(next) };
      if (next === null || records.length === 0) return;
      offset = idText(next);
    }
  }

  async close(): Promise<void> {}

  async #named(): Promise<NamedVector> {
    if (this.#vector !== undefined) return this.#vector;
    const { config } = resultIn(await this.#http.get(this.#path));
    const { vectors } = objectIn(objectIn(config, 'config').params, 'params');
    const { source, vectorField } = this.#options;
    this.#vector = NamedVector.chosen(objectIn(vectors ?? {}, 'vectors'), 'size', vectorField, source);
    return this.#vector;
  }
}

/** Greater than every id: the position after the last point. */
const END = '"ffffffff-ffff-ffff-ffff-ffffffffffff"';

/** Returns the JSON of an id: a text, or a number of up to 64 bits. */
const idText = (id: unknown): string => (typeof id === 'bigint' ? `${id}` : JSON.stringify(id));

function resultIn(answer: unknown): Record<string, unknown> {
  return objectIn(objectIn(answer, 'answer').result, 'result');
}

function recordOf({ id, payload, vector }: Record<string, unknown>, named: NamedVector): SourceRecord {
  if (typeof id !== 'string' && typeof id !== 'number' && typeof id !== 'bigint')
    throw new SourceError('A point has no id.');
  const issues: Issue[] = [];
  const values = named.valuesIn(vector, issues);
  return { id: `${id}`, values, metadata: objectIn(payload ?? {}, 'payload'), issues };
}
