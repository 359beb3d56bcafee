/**
 * Reads a Weaviate collection by its cursor, one tenant after another. A position is a tenant
 * and the id of the last object.
 */
import { HttpSource, listIn, objectIn } from './http-source.ts';
import type { Issue } from './issues.ts';
import { NamedVector } from './named-vector.ts';
import type { Metric, PageBegin, Source, SourceDescription, SourcePage, SourceRecord } from './port.ts';
import { SourceError } from './source-error.ts';

const METRICS: Readonly<Record<string, Metric>> = { cosine: 'cosine', dot: 'dot', 'l2-squared': 'euclidean' };
const DEFAULT_DISTANCE = 'cosine';
/** Smaller than every id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const NAME = /^[A-Za-z_]\w*$/;
/** Key of the vector in a collection without named vectors. */
const ONLY = '';

export interface WeaviateOptions {
  from: string;
  /** Name of the collection there. */
  source: string;
  vectorField?: string;
}

interface Place {
  tenant: string;
  after: string;
}

interface Schema {
  vector: NamedVector;
  /** Names of the tenants in their order; one empty name without tenants. */
  tenants: string[];
}

export function openWeaviate(options: WeaviateOptions): Source {
  const { WEAVIATE_API_KEY: key = '' } = process.env;
  return new Weaviate(new HttpSource(options.from, key === '' ? {} : { authorization: `Bearer ${key}` }), options);
}

class Weaviate implements Source {
  readonly #http: HttpSource;
  readonly #options: WeaviateOptions;
  #schema: Schema | undefined;

  constructor(http: HttpSource, options: WeaviateOptions) {
    this.#http = http;
    this.#options = options;
  }

  async describe(): Promise<SourceDescription> {
    const { vector, tenants } = await this.#read();
    const { distance = DEFAULT_DISTANCE } = (vector.settings.vectorIndexConfig ?? {}) as { distance?: unknown };
    const there = String(distance);
    let count = 0;
    for (const tenant of tenants) count += await this.#count(tenant);
    return {
      identity: {
        kind: 'weaviate',
        address: this.#http.address,
        collection: this.#options.source,
        vector: vector.name,
      },
      count,
      dimensions: null,
      metric: { there, here: METRICS[there] ?? null },
      mapping: [
        { there: 'id', here: 'id' },
        { there: vector.name === ONLY ? 'vector' : `vector "${vector.name}"`, here: 'values, as float32' },
        { there: 'properties', here: 'metadata; dates as text, references as lists of objects' },
        ...(tenants[0] === '' ? [] : [{ there: `tenants (${tenants.length})`, here: 'namespaces of the same names' }]),
      ],
    };
  }

  async *pages({ position, pageRecords }: PageBegin): AsyncGenerator<SourcePage, void, undefined> {
    const { vector, tenants } = await this.#read();
    const begin = position === null ? null : (JSON.parse(position) as Place);
    for (const tenant of tenants.slice(begin === null ? 0 : tenants.indexOf(begin.tenant))) {
      for (let after = tenant === begin?.tenant ? begin.after : FIRST_ID; ; ) {
        const query = new URLSearchParams({
          class: this.#options.source,
          limit: `${pageRecords}`,
          after,
          include: 'vector',
        });
        if (tenant !== '') query.set('tenant', tenant);
        const { objects } = objectIn(await this.#http.get(`/v1/objects?${query}`), 'objects');
        const records = listIn(objects ?? [], 'objects').map((each) =>
          recordOf(objectIn(each, 'object'), vector, tenant),
        );
        const last = records.at(-1);
        if (last === undefined) break;
        after = last.id;
        yield { records, next: JSON.stringify({ tenant, after }) };
      }
    }
  }

  async close(): Promise<void> {}

  async #read(): Promise<Schema> {
    if (this.#schema !== undefined) return this.#schema;
    const { source, vectorField } = this.#options;
    if (!NAME.test(source)) throw new SourceError(`${source} is no name of a collection of Weaviate.`, 400);
    const schema = objectIn(await this.#http.get(`/v1/schema/${source}`), 'schema');
    const named = objectIn(schema.vectorConfig ?? {}, 'vectorConfig');
    const vector =
      Object.keys(named).length === 0
        ? new NamedVector(ONLY, schema)
        : NamedVector.chosen(named, 'vectorIndexType', vectorField, source);
    const { enabled } = (schema.multiTenancyConfig ?? {}) as { enabled?: unknown };
    this.#schema = { vector, tenants: enabled === true ? await this.#tenants() : [''] };
    return this.#schema;
  }

  async #tenants(): Promise<string[]> {
    const tenants = listIn(await this.#http.get(`/v1/schema/${this.#options.source}/tenants`), 'tenants');
    return tenants.map((tenant) => String(objectIn(tenant, 'tenant').name)).sort();
  }

  async #count(tenant: string): Promise<number> {
    const { source } = this.#options;
    const of = tenant === '' ? '' : `(tenant: ${JSON.stringify(tenant)})`;
    const query = `{ Aggregate { ${source}${of} { meta { count } } } }`;
    const { data, errors } = objectIn(await this.#http.post('/v1/graphql', { query }), 'data');
    if (errors !== undefined && errors !== null)
      throw new SourceError(`Weaviate does not count the objects: ${JSON.stringify(errors).slice(0, 300)}`, 400);
    const [found] = listIn(objectIn(objectIn(data, 'data').Aggregate, 'Aggregate')[source], 'counts');
    const { count } = objectIn(objectIn(found, 'count').meta, 'meta');
    if (typeof count !== 'number') throw new SourceError('Weaviate did not answer with a count.');
    return count;
  }
}

function recordOf(object: Record<string, unknown>, named: NamedVector, tenant: string): SourceRecord {
  const issues: Issue[] = [];
  const { id, properties, vector, vectors } = object;
  if (typeof id !== 'string') throw new SourceError('An object has no id.');
  const values = named.valuesIn(named.name === ONLY ? vector : vectors, issues);
  // An object without a vector has an empty one.
  const isAbsent = values !== null && values.length === 0;
  return {
    id,
    values: isAbsent ? null : values,
    metadata: objectIn(properties ?? {}, 'properties'),
    issues,
    ...(tenant !== '' && { namespace: tenant }),
  };
}
