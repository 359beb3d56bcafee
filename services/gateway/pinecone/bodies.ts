/**
 * Translates Pinecone's request bodies to requests of `/api/v1`. A null counts as an absent field,
 * and so does an empty filter. Unknown fields are ignored unless they look like a misspelling of a
 * known one.
 */
import { randomUUID } from 'node:crypto';
import { PLACE_FIELDS, placeText } from '../../../contracts/requests/place.ts';
import { invalidValue, isJsonObject, type JsonObject } from '../../../lib/records/fields.ts';
import { Misspellings } from '../../../lib/records/misspellings.ts';
import { ANY_INDEX } from '../bodies/extracted-vectors.ts';
import { registerBodies, type Translation } from '../bodies/translation.ts';
import { filterOf } from './filter.ts';
import { metricOf } from './metric.ts';
import { namespaceOf } from './namespace.ts';

const VECTOR_MEMBERS = ['id', 'values', 'sparseValues', 'metadata'];

export const PINECONE_BODIES = {
  'pinecone/upsert': {
    request: 'upsert',
    members: ['vectors', 'namespace'],
    vectorsAt: ['vectors', ANY_INDEX, 'values'],
    translate: ({ vectors, namespace }) => ({
      records: Array.isArray(vectors) ? recordsOf(vectors) : vectors,
      namespace: namespaceOf(namespace),
    }),
  },
  'pinecone/query': {
    request: 'query',
    members: [
      'vector',
      'id',
      'topK',
      'filter',
      'includeValues',
      'includeMetadata',
      'namespace',
      'sparseVector',
      'queries',
      'scanFactor',
      'maxCandidates',
    ],
    vectorsAt: ['vector'],
    // Pinecone accepts zero vectors for any metric; the `dot` metric does, too.
    relaxed: ({ shape, ...rest }) => ({ ...rest, shape: shape && { ...shape, metric: 'dot' } }),
    translate(body) {
      refuseSparse(body.sparseVector, 'sparseVector');
      const isById = isGiven(body.id) && body.id !== '';
      return {
        ...pickGiven(body, ['topK', 'includeValues']),
        ...(isById ? { id: body.id } : pickGiven(body, ['vector'])),
        includeMetadata: body.includeMetadata ?? false,
        ...selectedBy(body),
      };
    },
  },
  'pinecone/delete': {
    request: 'delete',
    members: ['ids', 'deleteAll', 'filter', 'namespace'],
    vectorsAt: null,
    translate({ ids, deleteAll, filter, namespace }) {
      const all = deleteAll === false ? undefined : deleteAll;
      const targets = [ids, filter, all].filter(isGiven).length;
      if (targets !== 1)
        throw invalidValue(
          'ids',
          'given, or filter, or deleteAll: exactly one of them',
          targets === 0 ? 'missing' : 'not alone',
        );
      return {
        ...(isGiven(ids) && { ids }),
        ...(isGiven(filter) && { filter: filterOf(filter) }),
        ...(isGiven(all) && { all }),
        namespace: namespaceOf(namespace),
      };
    },
  },
  'pinecone/update': {
    request: 'update',
    members: ['id', 'values', 'sparseValues', 'setMetadata', 'filter', 'dryRun', 'namespace'],
    vectorsAt: ['values'],
    translate(body) {
      refuseSparse(body.sparseValues, 'sparseValues');
      const changes = pickGiven(body, ['values']);
      if (isGiven(body.setMetadata) && !isEmpty(body.setMetadata)) changes.setMetadata = body.setMetadata;
      const isById = isGiven(body.id) && body.id !== '';
      const isByFilter = isGiven(body.filter);
      if (isById === isByFilter)
        throw invalidValue('id', 'given, or filter: exactly one of them', isById ? 'not alone' : 'missing');
      if (isByFilter && isGiven(body.values)) throw invalidValue('values', 'absent where a filter is given', 'given');
      return {
        ...(isById ? { updates: [{ id: body.id, ...changes }] } : { ...changes, filter: filterOf(body.filter) }),
        ...pickGiven(body, ['dryRun']),
        namespace: namespaceOf(body.namespace),
      };
    },
  },
  'pinecone/fetch': {
    request: 'list',
    members: ['filter', 'limit', 'paginationToken', 'namespace'],
    vectorsAt: null,
    translate: (body) => ({
      ...pickGiven(body, ['limit']),
      ...(isGiven(body.paginationToken) && body.paginationToken !== '' && { cursor: body.paginationToken }),
      includeValues: true,
      includeMetadata: true,
      ...selectedBy(body),
    }),
  },
  'pinecone/stats': {
    request: 'none',
    members: ['filter'],
    vectorsAt: null,
    translate({ filter }) {
      if (isGiven(filter) && !isEmpty(filter)) throw invalidValue('filter', 'absent or empty', 'a filter');
      return {};
    },
  },
  'pinecone/namespace': {
    request: 'count',
    members: ['name', 'schema'],
    vectorsAt: null,
    translate({ name }) {
      if (!isGiven(name)) throw invalidValue('name', 'the name of a namespace', 'missing');
      return { namespace: namespaceOf(name) };
    },
  },
  'pinecone/create': {
    request: 'createIndex',
    members: [
      'name',
      'dimension',
      'metric',
      'vector_type',
      'spec',
      'schema',
      'deployment',
      'deletion_protection',
      'tags',
      'read_capacity',
      'source_collection',
      'cmek_id',
    ],
    vectorsAt: null,
    translate(body) {
      refuseSource(body);
      return { name: body.name ?? generatedName(), ...fieldsOf(body), ...changesOf(body), ...placeOf(body) };
    },
  },
  'pinecone/configure': {
    request: 'changeCollection',
    members: ['deletion_protection', 'tags', 'spec', 'schema', 'deployment', 'embed', 'read_capacity'],
    vectorsAt: null,
    translate(body) {
      const changes = changesOf(body);
      if (Object.keys(changes).length > 0) return changes;
      throw invalidValue('deletion_protection', 'given (at least one of deletion_protection, tags)', 'missing');
    },
  },
} as const satisfies Record<string, Translation>;
registerBodies(PINECONE_BODIES);

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
const isEmpty = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0;

/** Returns the given fields among `names`. */
function pickGiven(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (isGiven(body[name]) ? [[name, body[name]]] : [])));
}

/** Generates a name: since 2026-07 an index may be created without one. */
const generatedName = (): string => `index-${randomUUID().slice(0, 8)}`;

/** Fields that select the records of a read. */
const selectedBy = ({ filter, namespace }: JsonObject): JsonObject => ({
  ...(isGiven(filter) && !isEmpty(filter) && { filter: filterOf(filter) }),
  namespace: namespaceOf(namespace),
});

function recordsOf(vectors: readonly unknown[]): unknown[] {
  const misspellings = new Misspellings(VECTOR_MEMBERS);
  return vectors.map((vector, at) => {
    if (!isJsonObject(vector)) return vector;
    misspellings.refuse(Object.keys(vector), `vectors[${at}]`);
    refuseSparse(vector.sparseValues, `vectors[${at}].sparseValues`);
    return pickGiven(vector, ['id', 'values', 'metadata']);
  });
}

/** Refuses a sparse vector. An empty one counts as absent, since clients send it by default. */
function refuseSparse(value: unknown, path: string): void {
  const isEmptyVector =
    isJsonObject(value) &&
    [value.indices ?? [], value.values ?? []].every((list) => Array.isArray(list) && !list.length);
  if (isGiven(value) && !isEmptyVector)
    throw invalidValue(path, 'absent, since Provec supports only dense vectors', 'given');
}

/** Refuses to create an index from another one: Provec would create it empty. */
function refuseSource({ source_collection: own, spec }: JsonObject): void {
  const pod = isJsonObject(spec) && isJsonObject(spec.pod) ? spec.pod : {};
  if (isGiven(own ?? pod.source_collection))
    throw invalidValue(
      'source_collection',
      'absent, since Provec does not copy indexes: export and import instead',
      'given',
    );
}

/** Returns dimensions and metric, from the body or, since 2026-07, from its schema. */
function fieldsOf({ dimension, metric, vector_type: type, schema }: JsonObject): JsonObject {
  if (isGiven(type) && type !== 'dense')
    throw invalidValue('vector_type', '"dense", the only type that Provec supports', 'another');
  if (!isJsonObject(schema))
    return { dimensions: dimension, ...(isGiven(metric) && { metric: metricOf(metric, 'metric') }) };
  const fields = isJsonObject(schema.fields) ? Object.values(schema.fields) : [];
  const [field] = fields.filter(isJsonObject);
  if (fields.length !== 1 || field?.type !== 'dense_vector')
    throw invalidValue('schema.fields', 'one field, of the type "dense_vector"', 'something else');
  return {
    dimensions: field.dimension,
    ...(isGiven(field.metric) && { metric: metricOf(field.metric, 'schema.fields') }),
  };
}

/** Returns cloud and region, from the body's spec or, since 2026-07, from its deployment. */
function placeOf({ spec, deployment }: JsonObject): JsonObject {
  const isOld = isJsonObject(spec) && isJsonObject(spec.serverless);
  const path = isOld ? 'spec.serverless' : 'deployment';
  const given = isOld ? (spec.serverless as JsonObject) : isJsonObject(deployment) ? deployment : {};
  const texts = PLACE_FIELDS.flatMap((name) =>
    isGiven(given[name]) ? [[name, placeText(given[name], `${path}.${name}`)]] : [],
  );
  return texts.length > 0 ? { place: Object.fromEntries(texts) } : {};
}

function changesOf({ deletion_protection: protection, tags }: JsonObject): JsonObject {
  const noted = isGiven(tags) ? { tags } : {};
  if (!isGiven(protection)) return noted;
  if (protection !== 'enabled' && protection !== 'disabled')
    throw invalidValue('deletion_protection', '"enabled" or "disabled"', 'something else');
  return { ...noted, deletionProtection: protection === 'enabled' };
}
